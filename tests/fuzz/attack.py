"""The fuzz itself: what is called, with what, and what may come of it. One integer is one case."""

import asyncio
import dataclasses
import importlib
import inspect
import linecache
import numbers
import pickle
import pkgutil
import re
import signal
import traceback
import typing
import warnings
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import GeneratorType

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgWarning
from sklearn.base import BaseEstimator, clone

import rankwise
from fuzz.arguments import World, good
from fuzz.damages import damage

# Packages and names that are not attacked, with the reason.
OTHER_PACKAGES = {
    "cli": "a command line, tested by its own fuzz",
    "comparison": "fits for seconds; damaged files and tables are in tests/comparison",
    "distributed": "takes collections; bad parts are in tests/distributed",
    "testing": "checks that fail on purpose",
    "web": "a service, attacked by requests in tests/web",
}
# Functions make these; their methods are attacked.
RECORDS = {"Ranking", "Bound", "Concordance", "ComparablePairs", "DatasetInfo", "FeatureScore"}
RECORDS |= {"AlternativesGap", "LeavePairOutResult", "ProgressiveResult", "Report", "Table"}
RECORDS |= {"RatingTable", "TableSummary", "GoodnessOfFit", "Section"}
RECORDS |= {"TasteRanker", "TasteRanking", "Explanation", "Reason", "TasteErrors"}
# What these are called for is to change a live person.
CHANGES = {"TasteRanker.rate", "TasteRanker.prefer", "TasteRanker.forget"}
MIXINS = {"OnlineMixin", "OrdinalMixin", "RankerMixin"}  # attacked through the estimators
# Results that may hold NaN or infinity, by the docstring that says so.
NOT_FINITE = {
    "mean_rank_loss_per_rank": "NaN for a label that y_true does not hold",
    "exponential_pair_loss": "infinite if no float can hold it",
    "neg_exponential_pair_loss_scorer": "infinite if no float can hold it",
    "leave_pair_out": "differences are NaN across queries, misranking if no ratings differ",
    "progressive_validation": "the result carries the input",
    "prank_mistake_bound": "infinite without a margin",
    "prank_regret_bound": "infinite if no float can hold it",
    "margin_bound": "infinite if no float can hold it",
    "empirical_rademacher": "infinite if no float can hold it",
    "stability_beta": "infinite if no float can hold it",
    "stability_bound": "infinite if no float can hold it",
    "mean_interval": "with a single trial the half-width is infinite",
    "pairwise_wins": "a candidate may be called infinity",
    "BradleyTerry.fit_pairs": "an item may be called infinity",
    "read_": "a rating that is not there is NaN",
    "problem_for": "missing='nan' asks for NaN",
    "features_for": "missing='nan' asks for NaN",
    "Display": "holds what it was given",
}
COMPUTED = {"choice_", "_sandwich"}  # from the rest, when first asked for
ALLOWED = (ValueError, TypeError, OSError, ImportError)
# A wrong type may get Python's own words, but not these, which come from the depths.
DEEP = re.compile(
    r"broadcast|reshape|float\(\) argument|zero-size|out of bounds|out of range|"
    r"must be real number|ufunc|division by|ambiguous|dtype|array element|cannot unpack|numba"
)
SECONDS = 20
HERE = str(Path(__file__).parent)


class Hang(BaseException):
    """A call that did not come back in time."""


@dataclasses.dataclass
class Finding:
    """What went wrong, in which case."""

    target: str
    kind: str
    message: str
    where: str
    seed: int
    arguments: str

    @property
    def key(self):
        """Findings with one key are one defect."""
        return self.kind, self.where or (self.target, self.message), self.message.split(":")[0]


def targets():
    """Return all that is attacked, by name: functions, constructors and lives of estimators."""
    found = {}
    for module in pkgutil.iter_modules(rankwise.__path__):
        if module.name.startswith("_") or module.name in OTHER_PACKAGES:
            continue
        package = importlib.import_module(f"rankwise.{module.name}")
        for name in package.__all__:
            member = getattr(package, name)
            if not inspect.isclass(member):
                is_type = typing.get_origin(member) is not None
                found |= {name: member} if callable(member) and not is_type else {}
                continue
            if issubclass(member, BaseEstimator):
                found |= {f"{name} built": member, f"{name} lives": member, f"{name} used": member}
                continue
            if name not in RECORDS | MIXINS:
                found[name] = member
            for method in methods(member) if name not in MIXINS else ():
                found[f"{name}.{method}"] = getattr(member, method)
    return found


def methods(cls):
    """Return the names of the public methods, of scikit-learn's only ``score``."""
    # A display is plotted when it is built.
    names = [name for name in dir(cls) if not name.startswith("_") and name != "plot"]
    ours = [n for n in names if getattr(getattr(cls, n), "__module__", "").startswith("rankwise")]
    return sorted({*ours, *(["score"] if hasattr(cls, "score") else [])})


def parameters(function):
    """Return the parameters that are given by name, and their defaults."""
    kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    signature = inspect.signature(function)
    return {p.name: p.default for p in signature.parameters.values() if p.kind not in kinds}


def arguments(name, function, w, *, n_damaged, only_required=False):
    """Draw arguments, some of them damaged; return them and what was done."""
    constraints = getattr(function, "_parameter_constraints", {})
    drawn, done = {}, []
    for parameter, default in parameters(function).items():
        required = default is inspect.Parameter.empty
        if required or (not only_required and w.random.random() < 0.5):
            allowed = constraints.get(parameter, [])
            allowed = allowed if isinstance(allowed, list) else []
            drawn[parameter] = good(f"{name}.{parameter}", default, allowed, w)
    names = [parameter for parameter in parameters(function) if parameter != "self"]
    for parameter in w.random.permutation(names)[:n_damaged].tolist():
        drawn[parameter], how = damage(f"{name}.{parameter}", drawn.get(parameter), w)
        done.append(f"{parameter}: {how}")
    return drawn, done


class Case:
    """One case, from one integer."""

    def __init__(self, seed, names, *, note=None, n_damaged=None, dry=False):
        self.seed, self.findings = seed, []
        self.returned, self.error, self.answer = False, None, None
        self.name = list(names)[seed % len(names)]
        self.function, self.w = names[self.name], World(seed)
        self.n_damaged, self.note, self.dry = n_damaged, note, dry

    def run(self):
        """Attack, and return the findings."""
        np.random.seed(self.seed % 2**32)  # noqa: NPY002 what random_state=None draws from
        name, _, way = self.name.partition(" ")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if way:
                getattr(self, f"_{way}")(name)
            else:
                self._call(name, self.function, *self._arguments(name, self.function))
        plt.close("all")
        return self.findings

    def _arguments(self, name, function):
        n = self.n_damaged
        if n is None:
            chances = [0.7, 0.2, 0.1] if self.w.hard else [0.1, 0.65, 0.25]
            n = int(self.w.random.choice([0, 1, 2], p=chances))
        only = self.w.random.random() < 0.3
        return arguments(name, function, self.w, n_damaged=n, only_required=only)

    def _built(self, name):
        """Build with damaged parameters, then fit, predict and score on good data."""
        drawn, done = self._arguments(name, self.function)
        model = self._call(name, self.function, drawn, done)
        if model is not None:
            self._good_data(name, model, done)

    def _used(self, name):
        """Fit, then give one method damaged arguments."""
        drawn, done = arguments(name, self.function, self.w, n_damaged=0)
        model = self.function(**drawn)
        self._good_data(name, model, [f"{k}={v}" for k, v in drawn.items()])
        self._method(name, model, self.w.choose(*methods(self.function)), done, self.n_damaged)

    def _lives(self, name):
        """Call methods in any order, in worlds of several sizes."""
        model, done = self.function(), []
        for _ in range(int(self.w.random.integers(3, 9))):
            kept = ("pickle", "save", "clone")
            step = self.w.choose("set_params", *kept, *2 * methods(self.function))
            if step == "set_params":
                parameter = self.w.choose(*parameters(self.function))
                drawn, _ = arguments(name, self.function, self.w, n_damaged=0)
                value = drawn.get(parameter, parameters(self.function)[parameter])
                if self.n_damaged is None and self.w.random.random() < 0.2:
                    value, _ = damage(f"{name}.{parameter}", value, self.w)
                done.append(f"set_params({parameter}={short(value)})")
                model.set_params(**{parameter: value})
            elif step in ("pickle", "save"):
                if all("function" not in type(v).__name__ for v in vars(model).values()):
                    there = _pickled if step == "pickle" else _saved
                    copy = self._call(f"{name}.{step}", there, {"model": model}, done)
                    model = model if copy is None else copy
            elif step == "clone":
                copy = self._call(f"{name}.clone", clone, {"estimator": model}, done)
                model = copy if copy is not None and self.w.random.random() < 0.3 else model
            else:
                if self.w.random.random() < 0.1:
                    self.w.n, self.w.d = self.w.choose((4, 1), (9, 2), (12, 5))
                damaged = int(self.w.random.random() < 0.25) if self.n_damaged is None else 0
                self._method(name, model, step, done, damaged)
                done.append(step)

    def _good_data(self, name, model, done):
        self._method(name, model, "fit", done, 0)
        for step in ("predict", "score"):
            if step in methods(type(model)):
                self._method(name, model, step, done, 0)

    def _method(self, name, model, step, done, n_damaged):
        try:
            method = getattr(model, step)
        except AttributeError:
            return  # not with these parameters
        n = 1 if n_damaged is None else n_damaged
        full = f"{name}.{step}"
        drawn, damaged = arguments(full, method, self.w, n_damaged=n)
        before = snapshot(vars(model))
        raised = self._call(full, method, drawn, [*done, *damaged], tell=True)
        after = snapshot(vars(model))
        changed = {k for k in {*before, *after} - COMPUTED if before.get(k) != after.get(k)}
        if raised is not False and changed:
            message = f"{type(raised).__name__} leaves the model changed: {sorted(changed)}"
            self._report(full, "state", message, "", [*done, *damaged], drawn)
        elif raised is False and "fit" in step:
            self._check_finite(full, vars(model), [*done, *damaged], drawn)

    def _call(self, name, function, drawn, done, *, tell=False):
        """Call and check; return the result or None, with ``tell`` the error or False."""
        if self.dry:
            self.returned = True
            return False if tell else None
        before = {k: snapshot(v) for k, v in drawn.items() if k not in {"log", "random_state"}}
        failure, result = None, None
        if self.note:
            self.note(f"{self.seed} {name}: {described(done, drawn)}")
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for category in (RuntimeWarning, DeprecationWarning, np.exceptions.ComplexWarning):
                    warnings.simplefilter("error", category)
                # scikit-learn's models may say so of huge or dependent features
                warnings.simplefilter("ignore", LinAlgWarning)
                result = function(**drawn)
                if inspect.iscoroutine(result):
                    result = asyncio.run(result)
                if isinstance(result, GeneratorType):
                    result = list(result)
                if type(result).__name__.endswith("Display"):
                    result.plot()
            self.returned = True
        except (Exception, Hang) as error:
            failure = self.error = error
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.answer = snapshot(result) if failure is None else repr(failure)
        if failure is not None:
            kind = _verdict(failure)
            if kind:
                message = f"{type(failure).__name__}: {str(failure).splitlines()[:1]}"
                self._report(name, kind, message, _where(failure), done, drawn)
        else:
            self._check_finite(name, result, done, drawn)
        changed = [k for k, old in before.items() if old != snapshot(drawn[k])]
        if failure is None and name in CHANGES:
            changed = [k for k in changed if k != "self"]
        if changed:
            self._report(name, "input", f"{changed} changed", "", done, drawn)
        return (failure or False) if tell else result

    def _check_finite(self, name, result, done, drawn):
        place = None if any(key in name for key in NOT_FINITE) else not_finite(result)
        # A gap that no float can hold says that nothing is known; a cut at -inf tells missing
        # values from others.
        if place and not any(name in place for name in (".duality_gap_", ".cutpoints_")):
            self._report(name, "result", f"not finite: {place}", "", done, drawn)

    def _report(self, name, kind, message, where, done, drawn):
        found = Finding(name, kind, message, where, self.seed, described(done, drawn))
        self.findings.append(found)


def _pickled(model):
    return pickle.loads(pickle.dumps(model))


def _saved(model):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        rankwise.save(model, path)
        return rankwise.load(path)


def _verdict(error):
    """Return what is wrong with an error, or "" if it is a good one."""
    if isinstance(error, Hang):
        return "hang"
    if isinstance(error, Warning):
        return "warning" if _where(error) else ""
    if isinstance(error, AttributeError) and _on_purpose(error):
        return ""
    if not isinstance(error, ALLOWED):
        return "type"
    if isinstance(error, (OSError, ImportError)) or _on_purpose(error):
        return "" if str(error).strip() else "message"
    return "" if isinstance(error, TypeError) and not DEEP.search(str(error)) else "message"


def _on_purpose(error):
    """Whether somebody has raised it, rather than stumbled: our line says so, or scikit-learn's."""
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    ours = [i for i, (file, _) in enumerate(frames) if "/rankwise/" in file]
    inner = frames[ours[-1] + 1 :] if ours else frames
    if inner:
        allowed = "/sklearn/", HERE, "pathlib"
        return any(part in file for file, _ in inner for part in allowed)
    return linecache.getline(*frames[-1]).strip().startswith("raise")


def _where(error):
    """Return the innermost line of ours."""
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    ours = [f"{file.split('/rankwise/')[-1]}:{n}" for file, n in frames if "/rankwise/" in file]
    return ours[-1] if ours else ""


def snapshot(value, depth=0):
    """Return something that is equal only while the value is the same, bit for bit."""
    if isinstance(value, np.ma.MaskedArray):
        return "masked", snapshot(value.data), snapshot(np.ma.getmaskarray(value))
    if isinstance(value, np.ndarray):
        content = repr(value.tolist()) if value.dtype.hasobject else value.tobytes()
        return str(value.dtype), value.shape, content
    if sparse.issparse(value):
        parts = (getattr(value, k, None) for k in ("data", "indices", "indptr", "row", "col"))
        return value.shape, [snapshot(part) for part in parts]
    if hasattr(value, "to_numpy"):
        return str(getattr(value, "dtypes", "")), snapshot(np.asarray(value.to_numpy()))
    if isinstance(value, dict):
        return {k: snapshot(v, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [snapshot(v, depth + 1) for v in value]
    if isinstance(value, (str, bytes, numbers.Number, set, range, type(None))):
        return repr(value)
    inside = vars(value) if hasattr(value, "__dict__") and depth < 6 else {}
    # What is computed from the rest when it is first asked for is no change.
    kept = {
        k: snapshot(v, depth + 1)
        for k, v in inside.items()
        if not isinstance(inspect.getattr_static(type(value), k, None), cached_property)
        and k not in COMPUTED
    }
    return type(value).__name__, kept


def not_finite(value, place="result"):
    """Return where a value holds NaN or infinity, or None."""
    if isinstance(value, float | np.floating | complex):
        return None if np.isfinite(value) else f"{place} = {value}"
    if sparse.issparse(value):
        value = value.data
    if isinstance(value, np.ndarray):
        bad = value.dtype.kind in "fc" and not np.isfinite(value).all()
        return f"{place} has {value[~np.isfinite(value)][0]}" if bad else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, BaseEstimator):
        value = {k: v for k, v in vars(value).items() if k.endswith("_")}
    if isinstance(value, (list, tuple)):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        # Answers and names are the caller's.
        learned = ((k, v) for k, v in value.items() if k not in {"log", "order"})
        return next(filter(None, (not_finite(v, f"{place}.{k}") for k, v in learned)), None)
    return None


def described(done, drawn):
    """Return what was done before and to the arguments, and the arguments, in short."""
    return "; ".join(done) + " | " + ", ".join(f"{k}={short(v)}" for k, v in drawn.items())


def short(value):
    """Return a value in few letters."""
    if hasattr(value, "shape") and hasattr(value, "dtype") and np.ndim(value):
        small = getattr(value, "size", 99) <= 12 and isinstance(value, np.ndarray)
        listed = f" {value.tolist()}" if small else ""
        return f"{type(value).__name__} {value.dtype}{value.shape}{listed}"
    text = re.sub(r"\s+", " ", repr(value))
    return text if len(text) <= 90 else text[:87] + "..."
