"""Tables of text read from their bytes: rows, fields and numbers in one compiled pass.

A number is ``[+-] digits [. digits] [e [+-] digits]``. Where its digits fit into 53 bits and the
power of ten into 22, one division or product gives the nearest double; the others are left to the
caller, who gets their places.
"""

import numpy as np
from numba import njit

WHOLE, REAL, TEXT = 0, 1, 2
NONE, BACKSLASH, DOUBLED = 0, 1, 2

_TENS = 10.0 ** np.arange(23)
_NEWLINE, _RETURN, _QUOTE, _ESCAPE, _TAB, _SPACE = 10, 13, 34, 92, 9, 32
_HASH, _COLON = 35, 58


@njit(cache=True, nogil=True)
def _number(data, i, stop):
    """Read data[i:stop]: its value, and 0 for no number, 1 for exact, 2 for left to the caller."""
    negative = False
    if i < stop and (data[i] == 45 or data[i] == 43):
        negative = data[i] == 45
        i += 1
    digits = np.int64(0)
    significant = 0
    seen = 0
    power = 0
    fraction = False
    while i < stop:
        c = data[i]
        if 48 <= c <= 57:
            seen += 1
            if significant < 18:
                digits = digits * 10 + (c - 48)
                significant += digits > 0
                power -= fraction
            else:
                significant += 1
                power += not fraction
        elif c == 46 and not fraction:
            fraction = True
        else:
            break
        i += 1
    if seen == 0:
        return 0.0, 0
    if i < stop:
        if data[i] != 101 and data[i] != 69:
            return 0.0, 0
        i += 1
        down = False
        if i < stop and (data[i] == 45 or data[i] == 43):
            down = data[i] == 45
            i += 1
        if i == stop:
            return 0.0, 0
        exponent = 0
        while i < stop:
            c = data[i]
            if c < 48 or c > 57:
                return 0.0, 0
            if exponent < 10_000:
                exponent = exponent * 10 + (c - 48)
            i += 1
        power += -exponent if down else exponent
    status = 1
    value = float(digits)
    if significant > 18 or digits > 9_007_199_254_740_992:
        status = 2
    elif -22 <= power < 0:
        value /= _TENS[-power]
    elif 0 <= power <= 22:
        value *= _TENS[power]
    elif digits > 0:
        status = 2
    return (-value if negative else value), status


@njit(cache=True, nogil=True)
def _whole(data, i, stop):
    """Read data[i:stop], one to fifteen digits; -1 if it is anything else."""
    if i == stop or stop - i > 15:
        return np.int64(-1)
    value = np.int64(0)
    while i < stop:
        c = data[i]
        if c < 48 or c > 57:
            return np.int64(-1)
        value = value * 10 + (c - 48)
        i += 1
    return value


@njit(cache=True, nogil=True)
def _line_end(data, i):
    while data[i] != _NEWLINE:
        i += 1
    return i


@njit(cache=True, nogil=True)
def scan_table(data, start, line, separator, width, quotes, kinds, stop, out):
    """Read the rows of a table whose columns are known.

    Parameters
    ----------
    data : array of uint8
        The file; its last byte is a newline.
    start, line : int
        Where the first row begins, and the number of its line.
    separator, width : int
        The byte between fields, and how many of it there are.
    quotes : int
        NONE, or how a quote inside a quoted field is written: BACKSLASH or DOUBLED.
    kinds : array of int64
        WHOLE, REAL or TEXT for each column.
    stop : bool
        Whether to stop at the first bad row.
    out : tuple
        ``numbers`` (columns, rows) for WHOLE and REAL; ``spans`` (2 x columns, rows) for the
        first and past-the-last byte of TEXT, one row if there is none; ``lines`` (rows,); and
        ``hard`` (any, 4), the (column, row, first, past) of the numbers left to the caller.

    Returns
    -------
    tuple of int
        Rows read, rows refused, line and offset of the first refused, numbers left to the caller.
    """
    numbers, spans, lines, hard = out
    n_columns = len(kinds)
    i, row, bad, bad_line, bad_at, n_hard = start, 0, 0, 0, 0, 0
    while i < len(data):
        if data[i] == _NEWLINE or (data[i] == _RETURN and data[i + 1] == _NEWLINE):
            i = _line_end(data, i) + 1
            line += 1
            continue
        at, column, inside, n_hard_before = i, 0, 0, n_hard
        good = False
        while True:
            if quotes != NONE and data[i] == _QUOTE:
                first = i + 1
                i = first
                closed = False
                while i < len(data):
                    c = data[i]
                    if c == _QUOTE:
                        if quotes == BACKSLASH or i + 1 == len(data) or data[i + 1] != _QUOTE:
                            closed = True
                            break
                        i += 1
                    elif c == _ESCAPE and quotes == BACKSLASH:
                        i += 1
                        if i < len(data) and data[i] < _SPACE:
                            break
                    elif c == _NEWLINE:
                        inside += 1
                    elif c < _SPACE and c != _TAB and c != _RETURN:
                        break
                    i += 1
                past = i
                if not closed:
                    break
                i += 1
            else:
                first = i
                plain = True
                while data[i] != _NEWLINE:
                    c = data[i]
                    if c == separator and (width == 1 or data[i + 1] == separator):
                        break
                    if c < _SPACE and c != _TAB and not (c == _RETURN and data[i + 1] == _NEWLINE):
                        plain = False
                    if c == _QUOTE and quotes != NONE:
                        plain = False
                    i += 1
                past = i
                if data[i] == _NEWLINE and past > first and data[past - 1] == _RETURN:
                    past -= 1
                if not plain:
                    break
            kind = kinds[column]
            if kind == TEXT:
                spans[2 * column, row] = first
                spans[2 * column + 1, row] = past
            elif kind == WHOLE:
                whole = _whole(data, first, past)
                if whole < 0:
                    break
                numbers[column, row] = whole
            else:
                value, status = _number(data, first, past)
                if status == 0:
                    break
                if status == 2:
                    if n_hard < len(hard):
                        hard[n_hard, 0] = column
                        hard[n_hard, 1] = row
                        hard[n_hard, 2] = first
                        hard[n_hard, 3] = past
                    n_hard += 1
                numbers[column, row] = value
            column += 1
            if i == len(data):
                break
            if data[i] == _NEWLINE or (data[i] == _RETURN and data[i + 1] == _NEWLINE):
                good = column == n_columns
                break
            if (
                column == n_columns
                or data[i] != separator
                or (width == 2 and data[i + 1] != separator)
            ):
                break
            i += width
        if good:
            lines[row] = line
            row += 1
            line += inside
        else:
            i = at
            n_hard = n_hard_before
            if bad == 0:
                bad_line, bad_at = line, at
            bad += 1
            if stop:
                break
        i = _line_end(data, i) + 1
        line += 1
    return row, bad, bad_line, bad_at, n_hard


@njit(cache=True, nogil=True)
def scan_letor(data, limit, stop, out):
    """Read lines of ``grade qid:number feature:value ... # comment``.

    Parameters
    ----------
    data : array of uint8
        The file; its last byte is a newline.
    limit : int
        The largest feature number that is not refused.
    stop : bool
        Whether to stop at the first bad row.
    out : tuple
        ``grades``, ``qids``, ``lines`` (rows,); ``comments`` (2, rows), first and past-the-last
        byte; ``indptr`` (rows + 1,); ``indices`` and ``values`` (entries,), features from 0; and
        ``hard`` (any, 3), the (row or -1 - entry, first, past) of the numbers left to the caller.

    Returns
    -------
    tuple of int
        Rows read, rows refused, line and offset of the first refused, numbers left to the caller.
    """
    grades, qids, lines, comments, indptr, indices, values, hard = out
    i, line, row, entry, bad, bad_line, bad_at, n_hard = 0, 1, 0, 0, 0, 0, 0, 0
    place = 0
    indptr[0] = 0
    while i < len(data):
        while data[i] == _SPACE or data[i] == _TAB:
            i += 1
        blank = data[i] == _NEWLINE or (data[i] == _RETURN and data[i + 1] == _NEWLINE)
        if blank or data[i] == _HASH:
            i = _line_end(data, i) + 1
            line += 1
            continue
        at, entry_before, n_hard_before, tokens = i, entry, n_hard, 0
        largest = np.int64(0)
        good = False
        comments[0, row] = 0
        comments[1, row] = 0
        while True:
            while data[i] == _SPACE or data[i] == _TAB:
                i += 1
            if data[i] == _HASH:
                comments[0, row] = i + 1
                i = _line_end(data, i)
                comments[1, row] = i - (data[i - 1] == _RETURN)
            elif data[i] == _RETURN and data[i + 1] == _NEWLINE:
                i += 1
            if data[i] == _NEWLINE:
                good = tokens >= 2
                break
            first, colon = i, -1
            while data[i] > _SPACE and data[i] != _HASH:
                if data[i] == _COLON and colon < 0:
                    colon = i
                i += 1
            if data[i] < _SPACE and data[i] != _TAB and data[i] != _NEWLINE and data[i] != _RETURN:
                break
            if tokens == 0:
                value, status = _number(data, first, i)
                if status == 0:
                    break
                grades[row] = value
                place = row
            elif tokens == 1:
                if (
                    colon != first + 3
                    or data[first] != 113
                    or data[first + 1] != 105
                    or data[first + 2] != 100
                ):
                    break
                qid = _whole(data, colon + 1, i)
                if qid < 0:
                    break
                qids[row] = qid
                status = 1
            else:
                feature = np.int64(-1) if colon < 0 else _whole(data, first, colon)
                first = colon + 1
                value, status = _number(data, first, i)
                if feature <= largest or feature > limit or status == 0:
                    break
                largest = feature
                indices[entry] = feature - 1
                values[entry] = value
                place = -1 - entry
                entry += 1
            if status == 2:
                if n_hard < len(hard):
                    hard[n_hard, 0] = place
                    hard[n_hard, 1] = first
                    hard[n_hard, 2] = i
                n_hard += 1
            tokens += 1
        if good:
            lines[row] = line
            row += 1
            indptr[row] = entry
        else:
            i, entry, n_hard = at, entry_before, n_hard_before
            if bad == 0:
                bad_line, bad_at = line, at
            bad += 1
            if stop:
                break
        i = _line_end(data, i) + 1
        line += 1
    return row, bad, bad_line, bad_at, n_hard
