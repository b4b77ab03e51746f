"""Tables of text read from their bytes: rows, fields and numbers in one compiled pass.

A number is ``[+-] digits [. digits] [e [+-] digits]``, and below 1e308. Where its digits fit into
53 bits and the power of ten into 22, one division or product gives the nearest double; the others
are left to the caller, who gets their places.
"""

import numpy as np

from rankwise._core.compilation import compiled

WHOLE, REAL, TEXT, ID = 0, 1, 2, 3
NONE, BACKSLASH, DOUBLED = 0, 1, 2
NO, EXACT, HARD = 0, 1, 2


_TENS = 10.0 ** np.arange(23)
_NEWLINE, _RETURN, _QUOTE, _ESCAPE, _TAB, _SPACE = 10, 13, 34, 92, 9, 32
_HASH, _COLON = 35, 58


@compiled
def _number(data, i):
    """Read a number at i: its value, what it is (NO, EXACT or HARD), and where it ends."""
    negative = data[i] == 45
    if negative or data[i] == 43:
        i += 1
    digits = np.int64(0)
    significant = 0
    power = 0
    fraction = False
    begin = i
    while True:
        d = np.int64(data[i]) - 48
        if 0 <= d <= 9:
            if significant < 18:
                digits = digits * 10 + d
                if digits > 0:
                    significant += 1
                power -= fraction
            else:
                significant += 1
                power += not fraction
        elif d == -2 and not fraction:
            fraction = True
        else:
            break
        i += 1
    if i - begin - fraction == 0:
        return 0.0, NO, i
    if data[i] == 101 or data[i] == 69:
        i += 1
        down = data[i] == 45
        if down or data[i] == 43:
            i += 1
        begin = i
        exponent = 0
        while 48 <= data[i] <= 57:
            if exponent < 10_000:
                exponent = exponent * 10 + (data[i] - 48)
            i += 1
        if i == begin:
            return 0.0, NO, i
        power += -exponent if down else exponent
    if digits > 0 and min(significant, 18) + power > 308:
        return 0.0, NO, i
    status = EXACT
    value = float(digits)
    if significant > 18 or digits > 9_007_199_254_740_992:
        status = HARD
    elif -22 <= power < 0:
        value /= _TENS[-power]
    elif 0 <= power <= 22:
        value *= _TENS[power]
    elif digits > 0:
        status = HARD
    return (-value if negative else value), status, i


@compiled
def _whole(data, i):
    """Read one to fifteen digits at i: their value, or -1, and where they end."""
    begin = i
    value = np.int64(0)
    while True:
        d = np.int64(data[i]) - 48
        if d < 0 or d > 9:
            break
        value = value * 10 + d
        i += 1
    return (value if 0 < i - begin <= 15 else np.int64(-1)), i


@compiled
def _id(data, i):
    """Read a whole number as it is usually written, at most fifteen digits and no leading zero.

    Returns its value, whether it is one, and where it ends.
    """
    negative = data[i] == 45
    i += negative
    zero = data[i] == 48
    value, end = _whole(data, i)
    good = value >= 0 and not (zero and (negative or end > i + 1))
    return (-value if negative else value), good, end


@compiled
def _line_end(data, i):
    while data[i] != _NEWLINE:
        i += 1
    return i


@compiled
def _text(data, i, separator, width, quotes, quoted):
    """Find where the text at i ends, and count its newlines; -1 if it has no end or is no text."""
    newlines = 0
    if quoted:
        while i < len(data):
            c = np.int64(data[i])
            if c == _QUOTE:
                if quotes == BACKSLASH or data[i + 1] != _QUOTE:
                    return i, newlines
                i += 1
            elif c == _ESCAPE and quotes == BACKSLASH:
                i += 1
                if data[i] < _SPACE:
                    return -1, 0
            elif c == _NEWLINE:
                newlines += 1
            elif c < _SPACE and c != _TAB and c != _RETURN:
                return -1, 0
            i += 1
        return -1, 0
    while True:
        c = np.int64(data[i])
        if c == _NEWLINE:
            break
        if c == separator and (width == 1 or data[i + 1] == separator):
            break
        if c < _SPACE and c != _TAB and not (c == _RETURN and data[i + 1] == _NEWLINE):
            return -1, 0
        if c == _QUOTE and quotes != NONE:
            return -1, 0
        i += 1
    return i, newlines


@compiled
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
        WHOLE, REAL, TEXT or ID for each column.
    stop : bool
        Whether to stop at the first bad row.
    out : tuple
        ``numbers`` (columns, rows) for all but TEXT; ``spans`` (2 x columns, rows) for the
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
            kind = kinds[column]
            quoted = quotes != NONE and data[i] == _QUOTE
            i += quoted
            first = i
            if kind == TEXT:
                i, newlines = _text(data, i, separator, width, quotes, quoted)
                if i < 0:
                    break
                inside += newlines
                spans[2 * column, row] = first
                ended = data[i] == _NEWLINE and not quoted and i > first
                spans[2 * column + 1, row] = i - (ended and data[i - 1] == _RETURN)
            elif kind == WHOLE:
                whole, i = _whole(data, i)
                if whole < 0:
                    break
                numbers[column, row] = whole
            elif kind == ID:
                number, is_id, i = _id(data, i)
                if not is_id:
                    break
                numbers[column, row] = number
            else:
                value, status, i = _number(data, i)
                if status == NO:
                    break
                if status == HARD:
                    if n_hard < len(hard):
                        hard[n_hard, 0] = column
                        hard[n_hard, 1] = row
                        hard[n_hard, 2] = first
                        hard[n_hard, 3] = i
                    n_hard += 1
                numbers[column, row] = value
            if quoted:
                if data[i] != _QUOTE:
                    break
                i += 1
            column += 1
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


@compiled
def scan_letor(data, limit, base, grouped, stop, out):
    """Read lines of ``grade qid:number feature:value ... # comment``.

    Parameters
    ----------
    data : array of uint8
        The file; its last byte is a newline.
    limit : int
        The largest feature number that is not refused.
    base : int
        The number of the first feature, 1 or 0.
    grouped : bool
        Whether rows have a query; else ``qids`` gets the place of the row, refused ones counted.
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
        largest = np.int64(base - 1)
        qids[row] = row + bad
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
                good = tokens >= 1 + grouped
                break
            first, status = i, EXACT
            if tokens == 0:
                grades[row], status, i = _number(data, i)
                place = row
            elif tokens == 1 and grouped:
                if (
                    data[i] != 113
                    or data[i + 1] != 105
                    or data[i + 2] != 100
                    or data[i + 3] != _COLON
                ):
                    break
                qids[row], i = _whole(data, i + 4)
                if qids[row] < 0:
                    break
            else:
                feature, i = _whole(data, i)
                if data[i] != _COLON or feature <= largest or feature > limit:
                    break
                first = i + 1
                largest = feature
                indices[entry] = feature - base
                values[entry], status, i = _number(data, first)
                place = -1 - entry
                entry += 1
            c = data[i]
            if status == NO or not (9 <= c <= 13 or c in (_SPACE, _HASH)):
                break
            if status == HARD:
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
