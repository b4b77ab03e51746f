"""The API under ``/api``. Each answer sees all that was answered before."""

from dataclasses import replace
from time import perf_counter
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, HTTPException, Query, Request, Response

from rankwise.web import _schemas as shapes
from rankwise.web._cookies import MAX_AGE, NAME, new_visitor, sign
from rankwise.web._items import PAGE
from rankwise.web._methods import METHODS, CannotLearnError
from rankwise.web._people import Person
from rankwise.web._service import Service

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    401: {"model": shapes.Problem, "description": "The cookie is forged, or you were forgotten"},
    422: {"model": shapes.Problem, "description": "A value is not valid"},
    429: {"model": shapes.Problem, "description": "Too many requests"},
    503: {"model": shapes.Problem, "description": "The database is away, or the disk is full"},
}
_NOT_FOUND: dict[int | str, dict[str, Any]] = {
    404: {"model": shapes.Problem, "description": "There is no such item"}
}
_TOO_FEW: dict[int | str, dict[str, Any]] = {
    409: {"model": shapes.Problem, "description": "There is too little to learn from"}
}
_WRITES: dict[int | str, dict[str, Any]] = {
    400: {"model": shapes.Problem, "description": "The body is no JSON"},
    403: {"model": shapes.Problem, "description": "The request comes from another site"},
    408: {"model": shapes.Problem, "description": "The request came too slowly"},
    409: {"model": shapes.Problem, "description": "You have as many rows as one may have"},
    413: {"model": shapes.Problem, "description": "The body is too large"},
    415: {"model": shapes.Problem, "description": "The body is not application/json"},
}

router = APIRouter(prefix="/api", responses=_PROBLEMS, tags=["taste"])


def add_api(app: FastAPI) -> None:
    """Add the API to an app."""
    app.include_router(router)


def _service(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


def _visitor(request: Request) -> str | None:
    found: str | None = request.scope["visitor"]
    return found


def _person(request: Request) -> Person:
    return _service(request).people.get(_visitor(request))


def _place(request: Request, item: str) -> int:
    place = _service(request).items.place_of.get(item)
    if place is None:
        raise HTTPException(404, "there is no such item")
    return place


def _known_or_new(request: Request, response: Response) -> str:
    """Return the visitor, who is added and gets a cookie if there is none."""
    visitor, service = _visitor(request), _service(request)
    if visitor is None:
        visitor = new_visitor()
        service.store.add_visitor(visitor, "taste")
        response.set_cookie(
            NAME,
            sign(visitor, service.key),
            max_age=MAX_AGE,
            path=request.scope.get("root_path") or "/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="lax",
        )
    return visitor


@router.get("/items", response_model=shapes.ItemPage)
def items(
    request: Request,
    search: Annotated[str, Query(max_length=200)] = "",
    genre: Annotated[str, Query(max_length=200)] = "",
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> Any:
    """Items that hold all words of a search, most rated first."""
    person, served = _person(request), _service(request).items
    found = served.search(search, genre)
    return {
        "items": [person.shown(place) for place in found[PAGE * (page - 1) : PAGE * page]],
        "page": page,
        "pages": -(-len(found) // PAGE),
        "total": len(found),
        "genres": served.all_genres,
    }


@router.get("/me", response_model=shapes.Me)
def me(request: Request, response: Response) -> Any:
    """What you have said. Whoever comes without a cookie gets one."""
    service = _service(request)
    person = service.people.get(_known_or_new(request, response))
    scale = service.items.scale
    return {
        "ratings": [
            {"item": person.shown(place), "rating": rating}
            for place, rating in person.rating_of.items()
        ],
        "scale": {"low": scale.low, "high": scale.high, "step": scale.step},
        "method": person.method,
        "methods": [
            {"name": m.name, "title": m.title, "sentence": m.sentence, "source": m.source}
            for m in METHODS.values()
        ],
        "learned": person.said.visitor.learned,
        "version": person.version,
        "preferences": len(person.evidence.pairs),
    }


@router.put(
    "/ratings/{item:path}", response_model=shapes.RatingGiven, responses=_WRITES | _NOT_FOUND
)
def rate(item: str, body: shapes.NewRating, request: Request, response: Response) -> Any:
    """Rate an item, or rate it anew. It is kept when this is answered."""
    service, place = _service(request), _place(request, item)
    scale = service.items.scale
    if not scale.holds(body.rating):
        raise HTTPException(
            422, f"rating: from {scale.low:g} to {scale.high:g} in steps of {scale.step:g}"
        )
    person = service.people.get(_known_or_new(request, response))
    visitor, said = person.said.visitor.id, person.said
    predicted = None if item in said.ratings else person.predicted(place)
    version, before = service.store.rate(visitor, item, body.rating, predicted)
    ratings = {**said.ratings, item: (body.rating, before)}
    service.people.advance(person, version, ratings=ratings)
    return {"item": item, "rating": body.rating, "predicted": before, "version": version}


@router.delete(
    "/ratings/{item:path}", response_model=shapes.Version, responses=_WRITES | _NOT_FOUND
)
def unrate(item: str, request: Request) -> Any:
    """Take a rating back."""
    service = _service(request)
    person = _person(request)
    if item not in person.said.ratings:
        raise HTTPException(404, "you have not rated this")
    version = service.store.unrate(person.said.visitor.id, item)
    ratings = {key: given for key, given in person.said.ratings.items() if key != item}
    service.people.advance(person, version, ratings=ratings)
    return {"version": version}


@router.post("/learn", response_model=shapes.Learned, responses=_WRITES | _TOO_FEW)
def learn(body: shapes.Learn, request: Request) -> Any:
    """Learn your taste by a method. From then on every rating is learned from at once."""
    start, service = perf_counter(), _service(request)
    now = _person(request).said
    if not now.ratings and not now.comparisons:
        raise CannotLearnError("rate something first")
    chosen = replace(now.visitor, method=body.method, learned=True)
    person = service.people.make(replace(now, visitor=chosen))
    person.line()
    version = service.store.learn(now.visitor.id, body.method)
    service.people.keep_learned(person, version)
    seconds = perf_counter() - start
    return {"method": body.method, "learned": True, "version": version, "seconds": seconds}


@router.get("/ranking", response_model=shapes.RankingPage, responses=_TOO_FEW)
def ranking(
    request: Request,
    which: Annotated[Literal["rated", "unseen"], Query(alias="set")] = "unseen",
    flip: bool = False,
    k: Annotated[int, Query(ge=1, le=1_000)] = 50,
) -> Any:
    """Your own items re-ranked, or all others ranked; flipped, the worst come first."""
    person = _person(request)
    found = person.ranking(rated=which == "rated", flip=flip, k=k)
    line, places = person.line(), found.places.tolist()
    scores, grades = line.scores[found.places].tolist(), line.grades(found.places).tolist()
    sd = [None] * len(places) if found.deviations is None else found.deviations.tolist()
    return {
        "set": which,
        "flip": flip,
        "method": person.method,
        "version": person.version,
        "entries": [
            {"position": i + 1, "item": person.shown(p), "score": s, "rank": g, "sd": d}
            for i, (p, s, g, d) in enumerate(zip(places, scores, grades, sd, strict=True))
        ],
        "cut": found.cut,
        "thresholds": line.thresholds.tolist(),
        "levels": line.levels.tolist(),
        "direction": sorted(line.direction.tolist(), reverse=True),
        "total": found.total,
    }


@router.get(
    "/explain/{item:path}", response_model=shapes.Explanation, responses=_TOO_FEW | _NOT_FOUND
)
def explain(item: str, request: Request) -> Any:
    """Why an item has its score, in parts that add up to it."""
    return _person(request).explain(_place(request, item))


@router.get("/suggest", response_model=shapes.Suggestions, responses=_NOT_FOUND)
def suggest(
    request: Request,
    n: Annotated[int, Query(ge=1, le=20)] = 1,
    skip: Annotated[list[str] | None, Query(max_length=200)] = None,
) -> Any:
    """What to rate next, because it tells most; ``skip`` are items that you don't know."""
    person = _person(request)
    left_out = [_place(request, item) for item in skip or []]
    return {"items": [person.shown(place) for place in person.suggest(n, left_out)]}


@router.get("/progress", response_model=shapes.Progress)
def progress(request: Request) -> Any:
    """Whether each of your ratings was predicted before you gave it."""
    person = _person(request)
    rounds, loss, total, count = [], [], 0.0, 0
    for key, (rating, predicted) in person.said.ratings.items():
        place = person.items.place_of.get(key)
        if place is None:
            continue
        error = None if predicted is None else abs(rating - predicted)
        if error is not None:
            total, count = total + error, count + 1
        shown = person.shown(place)
        rounds.append({"item": shown, "rating": rating, "predicted": predicted, "error": error})
        loss.append(total / count if count else None)
    return {"rounds": rounds, "loss": loss}


@router.post("/compare", response_model=shapes.Version, responses=_WRITES | _NOT_FOUND)
def compare(body: shapes.Compare, request: Request, response: Response) -> Any:
    """Say that one item is better than another."""
    for item in (body.better, body.worse):
        _place(request, item)
    if body.better == body.worse:
        raise HTTPException(422, "worse: name another item than better")
    service = _service(request)
    person = service.people.get(_known_or_new(request, response))
    said, pair = person.said, (body.better, body.worse)
    version = service.store.compare(said.visitor.id, *pair)
    others = [old for old in said.comparisons if {*old} != {*pair}]
    service.people.advance(person, version, comparisons=[*others, pair])
    return {"version": version}


@router.get("/export", response_model=shapes.Export)
def export(request: Request, response: Response) -> Any:
    """All that is stored of you."""
    service, person = _service(request), _person(request)
    said, titles, place_of = person.said, person.items.titles, person.items.place_of
    response.headers["content-disposition"] = 'attachment; filename="rankwise.json"'
    visitor = said.visitor.id
    return {
        "created": service.store.created(visitor).isoformat() if visitor else None,
        "method": person.method,
        "learned": said.visitor.learned,
        "version": said.visitor.version,
        "ratings": [
            {
                "item": key,
                "title": titles[place_of[key]] if key in place_of else None,
                "rating": rating,
                "predicted": predicted,
            }
            for key, (rating, predicted) in said.ratings.items()
        ],
        "comparisons": [{"better": b, "worse": w} for b, w in said.comparisons],
    }


@router.delete("/me", response_model=shapes.Forgotten, responses=_WRITES)
def forget(request: Request, response: Response) -> Any:
    """Forget me: all that is stored of you is removed, and your cookie is void."""
    visitor, service = _visitor(request), _service(request)
    if visitor is not None:
        service.store.forget(visitor)
        service.people.drop(visitor)
    response.delete_cookie(
        NAME, path=request.scope.get("root_path") or "/", httponly=True, samesite="lax"
    )
    return {"forgotten": visitor is not None}
