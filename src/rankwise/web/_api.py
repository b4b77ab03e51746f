"""The API under ``/api``. Each answer sees all that was answered before."""

from dataclasses import replace
from datetime import UTC
from statistics import fmean
from time import perf_counter
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response

from rankwise.web import _schemas as shapes
from rankwise.web._items import PAGE
from rankwise.web._methods import METHODS
from rankwise.web._people import Person
from rankwise.web._service import Service

_MAX_AGE = 365 * 24 * 3600


def _problems(reasons: dict[int, str]) -> dict[int | str, dict[str, Any]]:
    return {
        status: {"model": shapes.Problem, "description": reason}
        for status, reason in reasons.items()
    }


_NOT_FOUND = _problems({404: "The item is not found"})
_TOO_FEW = _problems({409: "There is too little to learn from"})
_WRITES = _problems(
    {
        400: "The body is not JSON",
        403: "The request comes from another site",
        408: "The request came too slowly",
        409: "You have as many rows as one may have",
        413: "The body is too large",
        415: "The body is not application/json",
    }
)
router = APIRouter(
    prefix="/api",
    tags=["taste"],
    responses=_problems(
        {
            401: "The cookie is forged, or you were forgotten",
            422: "A value is not valid",
            429: "Too many requests",
            431: "Address and headers are too large",
            503: "The database is away, or the disk is full",
        }
    ),
)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _person(request: Request) -> Person:
    person: Person = request.app.state.service.people.get(request.scope["visitor"])
    return person


Here = Annotated[Service, Depends(_service)]
Visitor = Annotated[Person, Depends(_person)]


def _place(service: Service, item: str) -> int:
    place = service.items.place_of.get(item)
    if place is None:
        raise HTTPException(404, "item not found")
    return place


def _writer(service: Service, request: Request, response: Response) -> tuple[str, bool]:
    """Return who writes, and whether it is a new visitor, who gets a cookie with the answer."""
    visitor: str | None = request.scope["visitor"]
    if visitor is not None:
        return visitor, False
    visitor, value = service.visitors.new()
    header = service.visitors.cookie_header(request.scope, value, _MAX_AGE)
    response.headers["set-cookie"] = header
    return visitor, True


@router.get("/items")
def items(
    service: Here,
    person: Visitor,
    search: Annotated[str, Query(max_length=200)] = "",
    genre: Annotated[str, Query(max_length=200)] = "",
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> shapes.ItemPage:
    """Items that hold all words of a search, most rated first; words may be misspelled."""
    places = service.items.search(search, genre)
    return shapes.ItemPage(
        items=[person.shown(place) for place in places[PAGE * (page - 1) : PAGE * page]],
        page=page,
        pages=-(-len(places) // PAGE),
        total=len(places),
        genres=service.items.genres,
    )


@router.get("/me")
def me(service: Here, person: Visitor, request: Request) -> shapes.Me:
    """Your ratings, the scale and the methods."""
    row, (noun, nouns) = person.submitted.visitor, request.app.state.settings.nouns
    return shapes.Me(
        ratings=[
            shapes.Rated(item=person.shown(place), rating=rating)
            for place, rating in person.rating_of.items()
        ],
        scale=service.items.scale,
        method=person.method,
        methods=[
            replace(method, sentence=method.sentence.format(noun=noun, nouns=nouns))
            for method in METHODS.values()
        ],
        learned=row.learned,
        version=row.version,
        preferences=len(person.evidence.pairs),
    )


@router.put("/ratings/{item:path}", responses=_WRITES | _NOT_FOUND)
def rate(
    item: str, body: shapes.NewRating, person: Visitor, request: Request, response: Response
) -> shapes.RatingGiven:
    """Rate an item; a new rating takes the place of the old one. It is kept when answered."""
    service: Service = request.app.state.service
    place, scale = _place(service, item), service.items.scale
    rating = scale.snap(body.rating)
    if rating is None:
        raise HTTPException(
            422, f"rating: from {scale.low:g} to {scale.high:g} in steps of {scale.step:g}"
        )
    visitor, new = _writer(service, request, response)
    predicted = None if item in person.submitted.ratings else person.predicted(place)
    version, before = service.store.rate(visitor, item, rating, predicted, new=new)
    return shapes.RatingGiven(item=item, rating=rating, predicted=before, version=version)


@router.delete("/ratings/{item:path}", responses=_WRITES | _NOT_FOUND)
def unrate(item: str, service: Here, person: Visitor) -> shapes.Version:
    """Take a rating back."""
    if item not in person.submitted.ratings:
        raise HTTPException(404, "you have not rated this")
    return shapes.Version(version=service.store.unrate(person.submitted.visitor.id, item))


@router.post("/learn", responses=_WRITES | _TOO_FEW)
def learn(service: Here, person: Visitor, body: shapes.Learn | None = None) -> shapes.Learned:
    """Learn your taste by a method, the taste kernel if none is given.

    From then on every rating is learned from at once.
    """
    start, method = perf_counter(), body.method if body else "taste"
    person.learn(method)
    version = service.store.learn(person.submitted.visitor.id, method)
    seconds = perf_counter() - start
    return shapes.Learned(method=method, learned=True, version=version, seconds=seconds)


@router.get("/ranking", responses=_TOO_FEW)
def ranking(
    person: Visitor,
    which: Annotated[Literal["rated", "unseen"], Query(alias="set")] = "unseen",
    flip: bool = False,
    k: Annotated[int, Query(ge=1, le=1_000)] = 50,
) -> shapes.RankingPage:
    """Your own items re-ranked, or all others ranked; flipped, the worst come first."""
    return person.ranking(which, flip=flip, k=k)


@router.get("/explain/{item:path}", responses=_TOO_FEW | _NOT_FOUND)
def explain(item: str, service: Here, person: Visitor) -> shapes.Explanation:
    """Why an item has its score, in parts that add up to it."""
    return person.explain(_place(service, item))


@router.get("/suggest", responses=_NOT_FOUND)
def suggest(
    service: Here,
    person: Visitor,
    n: Annotated[int, Query(ge=1, le=20)] = 1,
    skip: Annotated[list[str] | None, Query(max_length=200)] = None,
) -> shapes.Suggestions:
    """Items to rate next, the most informative first; ``skip`` are items that you don't know."""
    unknown = [_place(service, item) for item in skip or []]
    return shapes.Suggestions(items=person.suggest(n, unknown))


@router.get("/progress")
def progress(service: Here, person: Visitor) -> shapes.Progress:
    """Whether each of your ratings was predicted before you gave it."""
    place_of = service.items.place_of
    rounds, loss, errors = [], [], []
    for key, (rating, predicted) in person.submitted.ratings.items():
        if key in place_of:
            error = None if predicted is None else abs(rating - predicted)
            errors += [] if error is None else [error]
            item = person.shown(place_of[key])
            rounds.append(shapes.Round(item=item, rating=rating, predicted=predicted, error=error))
            loss.append(fmean(errors) if errors else None)
    return shapes.Progress(rounds=rounds, loss=loss)


@router.post("/compare", responses=_WRITES | _NOT_FOUND)
def compare(
    body: shapes.Compare, service: Here, request: Request, response: Response
) -> shapes.Version:
    """Say that one item is better than another."""
    _place(service, body.better)
    _place(service, body.worse)
    if body.better == body.worse:
        raise HTTPException(422, "worse: name another item than better")
    visitor, new = _writer(service, request, response)
    version = service.store.compare(visitor, body.better, body.worse, new=new)
    return shapes.Version(version=version)


@router.get("/export")
def export(service: Here, person: Visitor, response: Response) -> shapes.Export:
    """All that is stored of you."""
    submitted, place_of = person.submitted, service.items.place_of
    response.headers["content-disposition"] = 'attachment; filename="rankwise.json"'
    row = submitted.visitor
    return shapes.Export(
        created=row.created and row.created.replace(tzinfo=row.created.tzinfo or UTC),
        method=person.method,
        learned=row.learned,
        version=row.version,
        ratings=[
            shapes.ExportedRating(
                item=key,
                title=service.items.all[place_of[key]].title if key in place_of else None,
                rating=rating,
                predicted=predicted,
            )
            for key, (rating, predicted) in submitted.ratings.items()
        ],
        comparisons=[shapes.Compare(better=b, worse=w) for b, w in submitted.comparisons],
    )


@router.delete("/me", responses=_WRITES)
def forget(service: Here, request: Request, response: Response) -> shapes.Forgotten:
    """Forget me: all that is stored of you is removed, and your cookie is void.

    ``erased`` says whether the bytes are gone from the files of the database, too.
    """
    visitor, erased = request.scope["visitor"], True
    if visitor is not None:
        erased = service.store.forget(visitor)
        service.people.forget()
    response.headers["set-cookie"] = service.visitors.cookie_header(request.scope)
    return shapes.Forgotten(forgotten=visitor is not None, erased=erased)
