"""Every way in describes the same linear program, and the reductions keep its optimum."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from fastmwem.errors import DataError, InvalidArgument
from fastmwem.lp.program import LinearProgram
from fastmwem.lp.standard import Simplex, row_names, standard_form

MPS = """NAME          SMALL
ROWS
 N  COST
 L  LIM1
 G  LIM2
 E  MYEQN
COLUMNS
    X         COST         1.0   LIM1         1.0
    X         LIM2         1.0
    Y         COST         2.0   LIM1         1.0
    Y         MYEQN       -1.0
    Z         COST        -1.0   MYEQN        1.0
RHS
    RHS       LIM1         4.0   LIM2         1.0
    RHS       MYEQN        7.0
BOUNDS
 UP BND       X            4.0
 LO BND       Y           -1.0
 UP BND       Y            1.0
ENDATA
"""


@pytest.fixture
def mps(tmp_path):
    path = tmp_path / "small.mps"
    path.write_text(MPS)
    return path


def _by_hand():
    return LinearProgram.from_linprog(
        [1, 2, -1], [[1, 1, 0], [-1, 0, 0]], [4, -1], [[0, -1, 1]], [7], [(0, 4), (-1, 1), (0, None)]
    )


def _optimum(lp):
    """Through the reduction to nonnegative variables, by HiGHS."""
    form = standard_form(lp, np.ones(len(lp.b_ub) + len(lp.b_eq)))
    sign = 1 if lp.sense == "min" else -1
    result = linprog(sign * form.c, A_ub=form.A, b_ub=form.b, method="highs")
    return lp.value(form.x(result.x)), form.x(result.x)


def _direct(lp):
    sign = 1 if lp.sense == "min" else -1
    bounds = list(zip(lp.lower, lp.upper, strict=True))
    return sign * linprog(sign * lp.c, lp.A_ub, lp.b_ub, lp.A_eq, lp.b_eq, bounds, method="highs").fun


def test_mps_and_highs_agree_with_the_arrays(mps):
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(mps))
    for lp in (LinearProgram.from_mps(mps), LinearProgram.from_highs(highs)):
        assert lp.names == ("X", "Y", "Z")
        assert _direct(lp) == pytest.approx(_direct(_by_hand()))
        np.testing.assert_allclose(np.sort(lp.b_ub), [-1, 4])
        np.testing.assert_allclose(lp.b_eq, [7])
        assert lp.both_ways


@pytest.mark.filterwarnings("ignore")
def test_cvxpy_problems_keep_their_optimum():
    cp = pytest.importorskip("cvxpy")
    x = cp.Variable(3)
    problem = cp.Problem(
        cp.Maximize(x[0] + 2 * x[1]), [x >= 0, cp.sum(x) == 2, x[1] <= 0.5, x[0] - x[2] <= 1]
    )
    lp = LinearProgram.from_cvxpy(problem)
    assert lp.sense == "max"
    assert _optimum(lp)[0] == pytest.approx(problem.solve(), abs=1e-6)
    signed, free = cp.Variable((2, 2), nonneg=True, name="signed"), cp.Variable(name="free", bounds=[-2, 3])
    problem = cp.Problem(cp.Minimize(cp.sum(signed) + free + 7), [signed[0, 1] + free >= 1, free <= 0.5])
    lp = LinearProgram.from_cvxpy(problem)
    assert lp.names == ("signed[0,0]", "signed[1,0]", "signed[0,1]", "signed[1,1]", "free")
    np.testing.assert_array_equal(lp.lower, [0, 0, 0, 0, -2])  # bounds, not rows with a private rhs
    assert len(lp.b_ub) == 2
    assert _optimum(lp)[0] == pytest.approx(problem.solve(), abs=1e-6) == pytest.approx(8)
    with pytest.raises(InvalidArgument, match="continuous"):
        LinearProgram.from_cvxpy(cp.Problem(cp.Minimize(free), [cp.Variable(integer=True) <= free]))
    with pytest.raises(InvalidArgument, match="linear program"):
        LinearProgram.from_cvxpy(cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1]))


@pytest.mark.parametrize("sparse", [False, True])
def test_the_reduction_keeps_the_optimum_for_every_kind_of_bound(sparse):
    rng = np.random.default_rng(1)
    kinds = [(0, None), (None, 2), (-1, 3), (None, None), (1, 1.5)]
    for _ in range(20):
        A = rng.normal(0, 1, (8, 5))
        inside = np.array([0.5, 1.0, 0.0, -0.3, 1.2])
        b, box = A @ inside + rng.uniform(0, 1, 8), np.vstack([np.eye(5), -np.eye(5)])
        rows = np.vstack([A, box])
        lp = LinearProgram.from_linprog(
            rng.normal(0, 1, 5), csr_array(rows) if sparse else rows, np.concatenate([b, np.full(10, 9.0)]),
            A[:1], A[:1] @ inside, kinds, sense=str(rng.choice(["min", "max"])),
        )  # fmt: skip
        value, x = _optimum(lp)
        assert value == pytest.approx(_direct(lp), abs=1e-6)
        assert (lp.lower - 1e-7 <= x).all()
        assert (x <= lp.upper + 1e-7).all()


def test_rows_without_a_bound_are_dropped_and_box_rows_are_public():
    lp = LinearProgram.from_linprog([1, 1], np.eye(2), [np.inf, 3], bounds=[(0, 2), (0, None)])
    form = standard_form(lp, np.array([0.5, 0.25]))
    np.testing.assert_allclose(form.b, [3, 2])
    np.testing.assert_allclose(form.sensitivity, [0.25, 0])


def test_rows_keep_their_names_through_the_reduction(mps, tmp_path):
    lp = LinearProgram.from_mps(mps)
    names, form = row_names(lp), standard_form(lp, np.ones(3))
    assert names == (
        "LIM1", "LIM2 (at least)", "MYEQN (at most)", "MYEQN (at least)",
        "upper bound of X", "upper bound of Y",
    )  # fmt: skip
    assert len(names) == len(form.b)
    np.testing.assert_allclose(form.b + form.A @ lp.lower, [4, -1, 7, -7, 4, 1])  # b, and widths of the boxes
    assert row_names(_by_hand()) == ()
    ranged = tmp_path / "ranged.mps"
    ranged.write_text(MPS.replace("BOUNDS", "RANGES\n    RNG       LIM1         2.5\nBOUNDS"))
    assert row_names(LinearProgram.from_mps(ranged))[:3] == ("LIM1", "LIM1 (at least)", "LIM2 (at least)")


def test_simplex_maps_keep_products():
    rng = np.random.default_rng(2)
    A, c = rng.normal(0, 1, (4, 3)), rng.uniform(1, 2, 3)
    for simplex in (Simplex.at_value(c, 5.0), Simplex.within(3, 2.0), Simplex.plain(3)):
        z = rng.dirichlet(np.ones(3 + simplex.slack))
        for rows in (A, csr_array(A)):
            np.testing.assert_allclose(simplex.rows(rows) @ z, A @ simplex.inner(z))
    assert c @ Simplex.at_value(c, 5.0).inner(np.array([0.2, 0.3, 0.5])) == pytest.approx(5)


def test_repr_shows_shapes_only():
    assert repr(_by_hand()) == "LinearProgram(min, 3 variables, 2 inequalities, 1 equality)"


def test_files_that_are_no_programs(tmp_path):
    with pytest.raises(DataError, match="is not a file"):
        LinearProgram.from_mps(tmp_path / "none.mps")
    broken = tmp_path / "broken.mps"
    broken.write_text("ROWS\n this is 3.14159 not a program\n")
    with pytest.raises(DataError, match="cannot be read") as error:
        LinearProgram.from_mps(broken)
    assert "3.14159" not in str(error.value)


def test_integer_models_are_refused(tmp_path):
    path = tmp_path / "integer.lp"
    path.write_text("Minimize\n obj: x\nSubject To\n c1: x >= 1.5\nGenerals\n x\nEnd\n")
    with pytest.raises(InvalidArgument, match="continuous"):
        LinearProgram.from_mps(path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0], [[1.0]], None), "A_ub and b_ub must be given together"),
        (([1.0, 2.0], [[1.0]], [1.0]), "c must have 1 entries"),
        (([1.0], [[1.0]], [-np.inf]), "must not hold -inf"),
        (([1.0], [[1.0]], [1.0], None, None, [(2, 1)]), "low <= high"),
        (([1.0], [[1.0]], [1.0], None, None, [1, 2, 3]), "bounds must be"),
        ((None,), "A_ub must be given"),
    ],
)
def test_errors_name_the_argument(arguments, words):
    with pytest.raises(InvalidArgument, match=words):
        LinearProgram.from_linprog(*arguments)
