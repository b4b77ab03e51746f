"""Threads that meet in compiled code, in less time than it takes to wake one.

A *board* is an array of whole numbers, those in use a cache line apart. One thread leads: it calls
the others, who wait in their seats, and goes on with those who answer at once. A thread that the
system has put to sleep doesn't, and is not missed. All who came take shares of one work after the
other, the quicker ones more, and meet after each.
"""

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rankwise.engine.loops.compiled import compiled

LINE = 8
# Where the board has the number of meetings, those who came to the next, those in the team, how
# often a seat is looked at before the leader gives up who was called, and before one leaves it, and
# how many shares were taken of each of four works.
MEETINGS, CAME, SIZE, PATIENCE, STAY, SHARES = range(0, 6 * LINE, LINE)
SEATS = SHARES + 4 * LINE
# What a seat says; the last and all above it are the place in the team.
AWAY, WAITING, CALLED, HERE, PLACE = 0, 1, 2, 3, 4
# The usual numbers of such looks.
USUAL_PATIENCE, USUAL_STAY = 5_000, 300_000


def new_board(n_seats: int) -> np.ndarray:
    """Return a board with seats for all but the one who leads."""
    board = np.zeros(SEATS + LINE * n_seats, dtype=np.int64)
    board[PATIENCE], board[STAY] = USUAL_PATIENCE, USUAL_STAY
    return board


def dismiss(board: np.ndarray) -> None:
    """Let nobody wait any more."""
    board[STAY] = 0


def is_empty(board: np.ndarray, seat: int) -> bool:
    """Return whether nobody waits in a seat, or comes from it."""
    return bool(board[SEATS + LINE * seat] == AWAY)


def _item(context, builder, signature, args):
    kind = signature.args[0]
    view = context.make_array(kind)(context, builder, args[0])
    return cgutils.get_item_pointer(context, builder, kind, view, [args[1]], wraparound=False)


@intrinsic
def _read(typing_context, board, at):
    def codegen(context, builder, signature, args):
        return builder.load_atomic(_item(context, builder, signature, args), "seq_cst", 8)

    return types.int64(board, types.int64), codegen


@intrinsic
def _write(typing_context, board, at, value):
    def codegen(context, builder, signature, args):
        item = _item(context, builder, signature, args)
        builder.store_atomic(args[2], item, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(board, types.int64, types.int64), codegen


@intrinsic
def _add(typing_context, board, at, value):
    """Add to an item and return what it was."""

    def codegen(context, builder, signature, args):
        item = _item(context, builder, signature, args)
        return builder.atomic_rmw("add", item, args[2], "seq_cst")

    return types.int64(board, types.int64, types.int64), codegen


@intrinsic
def _replace(typing_context, board, at, old, new):
    """Replace an item if it is ``old``; return whether it was."""

    def codegen(context, builder, signature, args):
        item = _item(context, builder, signature, args)
        pair = builder.cmpxchg(item, args[2], args[3], "seq_cst", "seq_cst")
        return builder.extract_value(pair, 1)

    return types.boolean(board, types.int64, types.int64, types.int64), codegen


@compiled(error_model="numpy")
def call_team(board):
    """Call all who wait, give places to those who come, and return their number and mine."""
    n_seats, size = (board.shape[0] - SEATS) // LINE, 1
    for seat in range(SEATS, SEATS + LINE * n_seats, LINE):
        _replace(board, seat, WAITING, CALLED)
    for seat in range(SEATS, SEATS + LINE * n_seats, LINE):
        for _ in range(_read(board, PATIENCE)):
            if _read(board, seat) != CALLED:
                break
        if not _replace(board, seat, CALLED, AWAY) and _read(board, seat) == HERE:
            size += 1
    _write(board, SIZE, size)
    for work in range(SHARES, SEATS, LINE):
        _write(board, work, 0)
    place = 1
    for seat in range(SEATS, SEATS + LINE * n_seats, LINE):
        if _read(board, seat) == HERE:
            _write(board, seat, PLACE + place)
            place += 1
    return size


@compiled(error_model="numpy")
def join_team(board, seat):
    """Wait in a seat to be called; return my place in the team and its size, or 0 and 0."""
    at = SEATS + LINE * seat
    _write(board, at, WAITING)
    looks = 0
    while True:
        looks += 1
        says = _read(board, at)
        if says == AWAY:
            _write(board, at, WAITING)
        elif says == CALLED and _replace(board, at, CALLED, HERE):
            while _read(board, at) == HERE:
                pass
            return _read(board, at) - PLACE, _read(board, SIZE)
        elif looks > _read(board, STAY) and _replace(board, at, WAITING, AWAY):
            return 0, 0


@compiled(error_model="numpy")
def next_share(board, work):
    """Return the number of the next share of a work, from 0 on."""
    return _add(board, SHARES + LINE * work, 1)


@compiled(error_model="numpy")
def meet(board, size):
    """Wait until all of the team are here; return the number of looks."""
    looks = 0
    if size > 1:
        meeting = _read(board, MEETINGS)
        if _add(board, CAME, 1) == size - 1:
            _write(board, CAME, 0)
            _add(board, MEETINGS, 1)
        else:
            while _read(board, MEETINGS) == meeting:
                looks += 1
    return looks


@compiled(error_model="numpy")
def await_all(board, n):
    """Look at the seats until nobody is away, at most n times."""
    seat = SEATS
    for _ in range(n):
        if seat >= board.shape[0]:
            return
        if _read(board, seat) != AWAY:
            seat += LINE
