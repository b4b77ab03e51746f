"""Route queries and weights to the part of an estimator that learns from them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import has_fit_parameter


def fit_arguments(estimator: Any, **arrays: Any) -> dict[str, NDArray[Any]]:
    """Return the keyword arguments of ``fit`` with which each given array reaches who takes it.

    An estimator whose ``fit`` names an argument is given it. One that has parts which do is given
    it by metadata routing, as in scikit-learn's ``cross_validate``, or, if that is off, by the name
    of the last step of a pipeline.

    Parameters
    ----------
    estimator : estimator
        Whose ``fit`` is to be called.
    given : array-likes or None
        ``qid`` and ``sample_weight``.

    Raises
    ------
    ValueError
        If a part takes an argument and can't be given it, or none takes ``sample_weight``.
    """
    direct: dict[str, NDArray[Any]] = {}
    routed: dict[str, NDArray[Any]] = {}
    for name, values in arrays.items():
        if values is None:
            continue
        takers = [] if has_fit_parameter(estimator, name) else _parts_with(estimator, name)
        if has_fit_parameter(estimator, name):
            direct[name] = np.asarray(values)
        elif takers and get_config()["enable_metadata_routing"]:
            routed[name] = np.asarray(values)
        elif takers:
            direct[_name_in_pipeline(estimator, name, takers)] = np.asarray(values)
        elif name == "sample_weight":
            raise ValueError(
                f"sample_weight can't be given to {type(estimator).__name__}, whose fit takes none"
            )
    return {**direct, **_routed(estimator, routed)}


def _parts_with(estimator: Any, name: str) -> list[Any]:
    """Return the estimators inside an estimator whose fit takes an argument."""
    parts = estimator.get_params(deep=True).values() if hasattr(estimator, "get_params") else ()
    return [
        part
        for part in parts
        if hasattr(part, "fit") and not isinstance(part, type) and has_fit_parameter(part, name)
    ]


def _name_in_pipeline(estimator: Any, name: str, takers: list[Any]) -> str:
    """Return the argument of a pipeline's fit that reaches its last step."""
    prefix, last = "", estimator
    while isinstance(last, Pipeline):
        step, last = last.steps[-1]
        prefix += f"{step}__"
    if prefix and hasattr(last, "fit") and has_fit_parameter(last, name):
        return prefix + name
    taker = type(takers[0]).__name__
    raise ValueError(
        f"{name} would not reach {taker}, a part of {type(estimator).__name__}: make {taker} the "
        "last step of a Pipeline, or switch on metadata routing with "
        f"sklearn.set_config(enable_metadata_routing=True) and ask for it with "
        f"{taker}(...).set_fit_request({name}=True)"
    )


def _routed(estimator: Any, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Let metadata routing check that some estimator requests the arrays, and pass them on."""
    if not arrays:
        return {}
    router = MetadataRouter(owner="leave_pair_out").add(
        estimator=estimator,
        method_mapping=MethodMapping().add(caller="fit", callee="fit"),
    )
    return dict(process_routing(router, "fit", **arrays).estimator.fit)
