"""Whatever a model, a table of people or a file of baskets holds, a solution, a plan or one sentence."""

from hypothesis import given
from hypothesis import strategies as st

from tests.robustness.commands import NUMBERS, fuzz, outcome

BUDGET = ("--epsilon=1", "--delta=1e-6")
RHS = ("--private=rhs", "--sensitivity=1e-4", "--radius=2", "--opt=0.5", "--rounds=3", *BUDGET)
ROWS = ("--private=rows", "--opt=2", "--max-violated=5", "--max-rows=50", "--rounds=3", *BUDGET)

MPS = """NAME          TWO
ROWS
 N  COST
 L  ONE
 G  BOTH
 E  SAME
COLUMNS
    X         COST         1.0   ONE          1.0
    X         BOTH         1.0
    Y         COST         1.0   BOTH         1.0
    Y         SAME         1.0
RHS
    RHS       ONE          0.3   BOTH         0.1
    RHS       SAME         0.2
RANGES
    RNG       ONE          0.3
BOUNDS
 UP BND       X            4.0
 MI BND       Y
ENDATA
"""
WORDS = st.sampled_from(
    [
        *(
            "NAME",
            "ROWS",
            "COLUMNS",
            "RHS",
            "RANGES",
            "BOUNDS",
            "ENDATA",
            "OBJSENSE",
            "MAX",
            "N",
            "L",
            "G",
            "E",
        ),
        *(
            "UP",
            "LO",
            "FX",
            "FR",
            "MI",
            "PL",
            "BV",
            "LI",
            "UI",
            "SC",
            "X",
            "Y",
            "COST",
            "ONE",
            "BOTH",
            "SAME",
        ),
        *("1.0", "-1", "0", "1e308", "-1e308", "inf", "nan", "1e-320", "x", "QUADOBJ", "MARKER", "'INTORG'"),
    ]
)


@st.composite
def models(draw):
    """The model above with words exchanged, lines dropped and doubled, or cut off."""
    lines = [line.split(" ") for line in MPS.splitlines()]
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["word", "word", "word", "drop", "double", "cut"])):
            case "word":
                places = [i for i, word in enumerate(lines[at]) if word]
                if places:
                    lines[at][draw(st.sampled_from(places))] = draw(WORDS)
            case "drop" if len(lines) > 1:
                del lines[at]
            case "double":
                lines.insert(at, list(lines[at]))
            case "cut":
                lines = lines[: at + 1]
    return "\n".join(" ".join(line) for line in lines) + "\n"


@fuzz(20)
@given(models())
def test_an_edited_model(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("model") / "model.mps"
    file.write_text(text)
    outcome("lp", file, *RHS, "--plan", "--json")
    outcome("lp", file, *RHS, "--quiet", "--out", file.parent / "out")


@fuzz(20)
@given(st.binary(max_size=120), st.sampled_from(["mps", "lp", "mps.gz"]))
def test_a_model_of_any_bytes(tmp_path_factory, content, kind):
    file = tmp_path_factory.mktemp("model") / f"model.{kind}"
    file.write_bytes(content)
    outcome("lp", file, *RHS, "--plan")


CELLS = st.one_of(
    st.sampled_from(["0", "1", "0.5", "-3", "", "nan", "inf", "1e400", '"', "'", "x,", "é"]),
    st.text(max_size=3),
)


@fuzz(20)
@given(st.lists(st.lists(CELLS, max_size=4), max_size=8), st.sampled_from(["1", "b", "nan", "c", ""]))
def test_people_of_any_kind(tmp_path_factory, rows, rhs):
    folder = tmp_path_factory.mktemp("people")
    lines = ["a,b,c", *(",".join(row) for row in rows)]
    (folder / "people.csv").write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    bounds = ("--rhs-low=0", "--rhs-high=1") if rhs != "1" else ()
    options = ("--header", f"--rhs={rhs}", *bounds, *ROWS, "--quiet")
    code, said = outcome("lp", folder / "people.csv", *options, "--out", folder / "out")
    assert code == 0 or rhs in ("nan", ""), said  # no private cell may make a run fail


@fuzz(20)
@given(st.binary(max_size=200), st.booleans())
def test_people_and_baskets_of_any_bytes(tmp_path_factory, content, baskets):
    folder = tmp_path_factory.mktemp("people")
    file = folder / ("baskets.txt" if baskets else "people.csv")
    file.write_bytes(content)
    (folder / "items.txt").write_text("a\nb\n")
    items = ("--items", folder / "items.txt") if baskets else ("--header",)
    code, said = outcome("lp", file, *items, *ROWS, "--quiet", "--out", folder / "out")
    assert code == 0 or not baskets, said


@fuzz(20)
@given(st.binary(max_size=30), st.binary(max_size=30))
def test_a_parquet_that_is_none(tmp_path_factory, head, tail):
    folder = tmp_path_factory.mktemp("people")
    (folder / "people.parquet").write_bytes(b"PAR1" + head + tail + b"PAR1")
    code, _ = outcome("lp", folder / "people.parquet", *ROWS, "--quiet", "--out", folder / "out")
    assert code == 1


@fuzz(20)
@given(st.dictionaries(
    st.sampled_from(["opt", "max-violated", "max-rows", "rounds", "coef-bound", "rhs", "rhs-low", "rhs-high",
                     "alpha", "rows-per-person", "epsilon", "delta", "opt-grid", "sense"]),
    st.sampled_from(sorted(NUMBERS)), max_size=3))  # fmt: skip
def test_any_numbers(tmp_path_factory, given):
    folder = tmp_path_factory.mktemp("people")
    (folder / "people.csv").write_text("a,b,c\n" + "0,1,1\n1,0,1\n" * 20)
    usual = dict(option.removeprefix("--").split("=") for option in ROWS)
    options = [f"--{name}={value}" for name, value in (usual | given).items()]
    outcome("lp", folder / "people.csv", "--header", *options, "--plan")
