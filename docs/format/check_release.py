#!/usr/bin/env python3
"""Check a release or a ledger of dpjax without dpjax.

    python check_release.py release.json
    python check_release.py ledger.jsonl

The program needs Python 3.9 or later and its standard library. It derives the facts of
a file again from the file's public entries, and prints one line for each fact. The
page "The format of files" of the documentation defines every entry and formula.

Exit status: 0 if everything is verified; 1 if the file is refused; 2 if it has a kind
that this program does not cover. Nothing is verified of a refused or uncovered file.
"""

import datetime
import decimal
import hashlib
import itertools
import json
import math
import operator
import re
import struct
import sys
from fractions import Fraction

MOST = 2**53  # up to here every integer is a double
MOST_WORK = 4 * 10**6  # of a search for the largest change that a record can make
MOST_NUMBERS = 1024  # of a group with K-norm noise, whose points are counted
COUNTS, MARGINALS = "family-counts", "marginal-counts"
BLOCKS, LOOSE_BLOCKS = "contrasts", "marginal-contrasts"
FOURIER, PRINTED = "fourier-coefficients", "fourier-coefficients-as-printed"
LAPLACE, SPLIT = "discrete-laplace", "split-discrete-laplace"
GAUSSIAN, WIDE = "discrete-gaussian", "wide-gaussian"
K_NORM = "k-norm"
NOISES = (LAPLACE, SPLIT, GAUSSIAN, WIDE)
COVERED = {
    *itertools.product((COUNTS, MARGINALS, FOURIER, PRINTED), NOISES),
    *itertools.product((BLOCKS, LOOSE_BLOCKS), [K_NORM]),
}
SHARED = ("library", "records", "variables")  # by a release and earlier ones
EPSILON, DELTA, RHO = "epsilon", "delta", "rho"
NUMBERS = {"pure-dp": [EPSILON], "approximate-dp": [EPSILON, DELTA], "zcdp": [RHO]}
MARKS = {"missing", "missing_values"}


class Refused(Exception):
    """The file states something that does not follow from its other entries."""


class NotCovered(Exception):
    """The file has a kind that this program does not know."""


def need(condition, message):
    """Refuse the file unless the condition holds."""
    if not condition:
        raise Refused(message)


def members(value, required, optional=(), what="the file"):
    """Refuse an entry that is not an object with these members and no others."""
    need(isinstance(value, dict), f"{what} is not an object")
    found, required = set(value), set(required)
    need(required <= found, f"{what} lacks {', '.join(sorted(required - found))}")
    extra = found - required - set(optional)
    need(not extra, f"{what} has the unknown member {min(extra, default='')!r:.60}")
    return value


# ---- JSON, read strictly, and its canonical forms.


def read_json(text):
    """Parse JSON without repeated names, NaN, infinity and very long numbers."""

    def once(pairs):
        need(len(dict(pairs)) == len(pairs), "an object repeats a name")
        return dict(pairs)

    def number(digits):
        need(len(digits) <= 100, "a number has more than 100 characters")
        need(math.isfinite(float(digits)), "a number is not finite")
        return int(digits) if re.fullmatch("-?[0-9]+", digits) else float(digits)

    hooks = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), number)
    try:
        return json.loads(text, object_pairs_hook=once, **hooks)
    except (ValueError, RecursionError):
        raise Refused("the file is not JSON") from None


def canonical(value):
    """Return the text of a JSON value in the form of RFC 8785."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        pairs = [canonical(name) + ":" + canonical(value[name]) for name in names]
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join([canonical(item) for item in value]) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return canonical_number(value)
    return json.dumps(value, ensure_ascii=False)


def canonical_number(value):
    """Return a number as ECMAScript prints it (RFC 8785, section 3.2.2.3)."""
    if isinstance(value, int):
        need(-MOST <= value <= MOST, "an integer is beyond 2^53")
        return str(value)
    mantissa, _, power = repr(abs(value)).partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    point = len(whole) + int(power or 0) - (len(whole + part) - len(digits))
    digits = digits.rstrip("0")
    if not digits:
        return "0"
    sign = "-" if value < 0 else ""
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if 0 < point <= 21:
        part = "." + digits[point:] if digits[point:] else ""
        return sign + digits[:point].ljust(point, "0") + part
    part = "." + digits[1:] if digits[1:] else ""
    return f"{sign}{digits[0]}{part}e{point - 1:+d}"


def escaped(value):
    """Return the text of a JSON value in the form of older files."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def sha256(text):
    """Return the SHA-256 digest of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


# ---- Exact numbers as text, guarantees.


def fraction(text, what):
    """Read a positive fraction in lowest terms, such as "1/3" or "2"."""
    form = "[1-9][0-9]*(/[1-9][0-9]*)?"
    plain = isinstance(text, str) and len(text) <= 60 and re.fullmatch(form, text)
    need(plain and str(Fraction(text)) == text, f"{what} is no reduced fraction")
    return Fraction(text)


def integer(value, least, most, what):
    """Read an integer of a range."""
    need(type(value) is int and least <= value <= most, f"{what} is out of range")
    return value


def guarantee(stated):
    """Return the numbers (ε, δ) or (ρ,), the adjacency and the rows of a person."""
    need(isinstance(stated, dict), "a guarantee is not an object")
    if stated.get("kind") not in list(NUMBERS):
        raise NotCovered(f"guarantees of kind {stated.get('kind')!r:.60}")
    numbers = NUMBERS[stated["kind"]]
    members(stated, ["kind", "adjacency", *numbers], ["contributions"], "a guarantee")
    near = stated["adjacency"]
    need(near in ("replace-one", "add-remove"), "the adjacency is unknown")
    rows = integer(stated.get("contributions", 2), 2, 2**29, "`contributions`")
    values = [stated[x] != "0" and fraction(stated[x], x) for x in numbers]
    values = (*map(Fraction, values), *[Fraction(0)][: stated["kind"] == "pure-dp"])
    need(any(values) and max(values[1:], default=0) < 1, "a guarantee promises nothing")
    return values, near, rows if "contributions" in stated else 1


def unit(rows):
    """Return what a guarantee protects, in words."""
    return "one row" if rows == 1 else f"a person with up to {rows} rows"


# ---- Variables and the network.


def level(entry, version):
    """Return the canonical text of a level, with which levels are compared."""
    if version >= 3 and isinstance(entry, dict):
        text = members(entry, ["number"], (), "a level")["number"]
        value = read_json(text) if isinstance(text, str) else None
        odd = type(value) is float and value.is_integer()
        odd = odd or (type(value) is int and abs(value) > MOST)
        need(odd and repr(value) == text, "a level is not in its only form")
        return canonical(entry)
    need(isinstance(entry, (str, bool, int, float)), "a level is of no known type")
    return canonical(entry) if version >= 3 else escaped(entry)


def size_of(variable, version):
    """Return the number of levels of a variable."""
    need(isinstance(variable, dict), "a variable is not an object")
    need(isinstance(variable.get("name"), str) and variable["name"], "a name is empty")
    what = f"variable {variable['name']!r:.60}"
    marks = variable.get("missing_values", [])
    need(isinstance(marks, list), f"`missing_values` of {what} is no list")
    extra = [level(x, version) for x in marks]
    own = [level(variable["missing"], version)] if "missing" in variable else []
    need(own or "missing_values" not in variable, f"{what} has no missing level")
    if "levels" in variable:
        members(variable, ["name", "levels"], {*MARKS, "other", "codes"}, what)
        need(isinstance(variable["levels"], list), f"`levels` of {what} is no list")
        known = [level(x, version) for x in variable["levels"]]
        own += [level(variable["other"], version)] if "other" in variable else []
        codes = members(variable.get("codes", {}), [], variable.get("codes", {}), what)
        own += [level(x, version) for x in codes.values()]
        need(set(own) <= set(known), f"{what} names a level that it does not have")
        size = len(known)
    else:
        known = [f'"{x}"' for x in labels(variable, what)]
        size = len({*known, *own})
    need(len({*known, *extra}) == len(known) + len(extra), f"{what} repeats a level")
    need(size >= 2, f"{what} has fewer than two levels")
    return size


def labels(variable, what):
    """Return the labels of bins or of periods."""
    if "edges" in variable:
        members(variable, ["name", "lower", "upper", "edges"], MARKS, what)
        edges = variable["edges"]
        need(isinstance(edges, list) and edges, f"`edges` of {what} is no list")
        ends = [variable["lower"], *edges, variable["upper"]]
        numbers = all(type(x) in (int, float) for x in ends)
        need(numbers and ends == sorted(set(ends)), f"edges of {what} do not increase")
        short = [x == int(x) and abs(x) < 1e15 for x in ends]
        shown = [str(int(x) if y else float(x)) for x, y in zip(ends, short)]
        bins = [f"[{a}, {b})" for a, b in zip(shown[:-1], shown[1:])]
        return [*bins[:-1], bins[-1][:-1] + "]"]
    need("unit" in variable, f"{what} has no levels")
    members(variable, ["name", "lower", "upper", "unit"], MARKS, what)
    try:
        days = [datetime.date.fromisoformat(variable[x]) for x in ("lower", "upper")]
    except (TypeError, ValueError):
        raise Refused(f"the bounds of {what} are no days") from None
    written = [day.isoformat() for day in days]
    need(
        written == [variable["lower"], variable["upper"]],
        f"the bounds of {what} are written otherwise",
    )
    need(days[0] <= days[1], f"the bounds of {what} do not increase")
    number = {
        "year": lambda day: str(day.year).zfill(4),
        "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
        "month": lambda day: f"{day.year:04}-{day.month:02}",
        "week": lambda day: "{:04}-W{:02}".format(*day.isocalendar()),
        "day": str,
        "hour": str,
    }
    need(variable["unit"] in number, f"the unit of {what} is unknown")
    need((days[1] - days[0]).days < 10_000 * 366, f"{what} has too many periods")
    every = range(days[0].toordinal(), days[1].toordinal() + 1)
    label = number[variable["unit"]]
    found = list(dict.fromkeys(label(datetime.date.fromordinal(x)) for x in every))
    if variable["unit"] == "hour":
        found = [f"{day}T{hour:02}" for day in found for hour in range(24)]
    return found


def node_groups(parents, names):
    """Return for each variable the indices of its parents and of itself."""
    members(parents, names, (), "`parents`")
    for name, above in parents.items():
        fine = isinstance(above, list) and all(isinstance(x, str) for x in above)
        need(fine and len(set(above)) == len(above), f"parents of {name!r:.60} repeat")
        need(set(above) <= set(names), f"a parent of {name!r:.60} is unknown")
    left = dict(parents)
    while left:  # take away those whose parents are all gone
        free = [x for x in left if not set(left[x]) & set(left)]
        need(free, "the network has a cycle")
        left = {x: above for x, above in left.items() if x not in free}
    return [(*map(names.index, parents[name]), i) for i, name in enumerate(names)]


def table_groups(statistic, names):
    """Return the indices of the variables of tables without a network."""
    tables = members(statistic, ["kind", "tables"], (), "`statistic`")["tables"]
    need(isinstance(tables, list) and tables, "`tables` is no list")
    for table in tables:
        need(isinstance(table, list) and table, "a table is no list of variables")
        need(all(x in names for x in table), "a table has an unknown variable")
    groups = [tuple(map(names.index, table)) for table in tables]
    rising = all(list(x) == sorted(set(x)) for x in (groups, *groups))
    need(rising and maximal(groups) == groups, "tables are not sorted, or repeat")
    return groups


def check_loose(content, names, measured):
    """Refuse tables without a network, unless they are those of learned parents."""
    learned = content.get("learned")
    need((content["parents"] is None) != (learned is not None), "`parents` do not fit")
    if learned is None:
        return
    old, new = learned["earlier"]["parents"], set()
    for i, name in enumerate(names):
        added = content["parents"][name][len(old[name]) :]
        new |= {frozenset({i, names.index(x)}) for x in added}
    fits = "draws" in learned and new == set(map(frozenset, measured))
    need(fits, "the tables are not those of new parents")


def table_blocks(statistic, names):
    """Return the variables of each block's known margin, and its others, by index."""
    listed = members(statistic, ["kind", "blocks"], (), "`statistic`")["blocks"]
    need(isinstance(listed, list) and listed, "`blocks` is no list")
    loose = statistic["kind"] == LOOSE_BLOCKS
    need(not loose or len(listed) <= 1024, "there are more than 1024 tables")
    blocks, earlier = [], []
    for stated in listed:
        above, own = (
            members(stated, ["given", "table"], (), "a block")[x]
            for x in ("given", "table")
        )
        need(isinstance(above, list) and isinstance(own, list), "a block has no lists")
        need(all(x in names for x in above + own), "a block has an unknown variable")
        above, own = (tuple(map(names.index, x)) for x in (above, own))
        group = {*above, *own}
        need(own and len(group) == len(above + own), "a block repeats a variable")
        known = not above or any(set(above) <= x for x in earlier)
        need(known, "no earlier block has the margin of a block")
        need(
            not any(group <= x for x in earlier), "an earlier block has all of a block"
        )
        blocks.append((above, own))
        earlier.append(group)
    return blocks


def maximal(groups):
    """Return the groups that no other group contains."""
    return [x for x in groups if not any(set(x) < set(y) for y in groups)]


# ---- Sensitivities.


def states(size):
    """Return what a variable with these levels does in a record and in its substitute.

    A state lists, for each contrast, its values at the two levels, with their number.
    Levels other than 0 are interchangeable, and so are the signs of all the pairs.
    """
    found = []
    for old, new in itertools.product(range(min(size, 3)), repeat=2):
        pairs = {}
        for contrast in range(1, size):
            pair = tuple((x == 0) - (x == contrast) for x in (old, new))
            pairs[pair] = pairs.get(pair, 0) + 1
        pairs.pop((0, 0), None)
        flipped = {(-a, -b): number for (a, b), number in pairs.items()}
        if pairs not in found and flipped not in found:
            found.append(pairs)
    return found


def times(left, right):
    """Multiply two collections of pairs of products."""
    product = {}
    for (a, b), number in left.items():
        for (c, d), other in right.items():
            product[a * c, b * d] = product.get((a * c, b * d), 0) + number * other
    return product


def moved(pairs, halved, power):
    """Return the sum of powers of |p - p'|, halved for records of odd parity."""
    total = sum(abs(a - b) ** power * number for (a, b), number in pairs.items())
    return total // 2**power if halved else total


def factor(group, sizes, own, power):
    """Return the change of the coefficients of `own` subsets, for all states."""
    kinds = [states(sizes[i]) for i in group]
    table = {}

    def walk(place, chosen, products):
        if place == len(group):
            binary = {x: all(sizes[i] == 2 for i in x) for x in own}
            table[chosen] = sum(moved(products[x], binary[x], power) for x in own)
            return
        for number, pairs in enumerate(kinds[place]):
            more = {(*x, group[place]): times(y, pairs) for x, y in products.items()}
            walk(place + 1, (*chosen, number), {**products, **more})

    walk(0, (), {(): {(1, 1): 1}})
    return group, table


def largest_in_network(groups, sizes, power):
    """Return the largest change over a network's coefficients, and an upper bound."""
    groups = [tuple(sorted(group)) for group in groups]
    many = {i: len(states(size)) for i, size in enumerate(sizes)}
    work = sum(2 ** len(x) * math.prod(many[i] for i in x) for x in groups)
    if work > MOST_WORK:
        raise NotCovered("networks whose tables have so many variables")
    factors, seen = [], set()
    for group in groups:
        ranks = range(1, len(group) + 1)
        subsets = [x for k in ranks for x in itertools.combinations(group, k)]
        own = [x for x in subsets if x not in seen]
        factors.append(factor(group, sizes, own, power))
        seen.update(subsets)
    bound = sum(max(table.values()) for _, table in factors)
    return eliminate(factors, many), bound


def entries_at(places):
    """Return the function from a tuple to the tuple of its entries at `places`."""
    pick = operator.itemgetter(*places)
    return pick if len(places) > 1 else lambda entries: (pick(entries),)


def eliminate(factors, many):
    """Maximise a sum of tables over all states; None if that is too much work."""
    best, work = 0, 0
    while factors:
        scopes = {}
        for group, _ in factors:
            for i in group:
                scopes.setdefault(i, set()).update(group)
        i = min(scopes, key=lambda x: (len(scopes[x]), x))
        scope = tuple(sorted(scopes[i] - {i}))
        used = [x for x in factors if i in x[0]]
        work += many[i] * math.prod(many[j] for j in scope) * len(used)
        if work > MOST_WORK:
            return None
        table, order = {}, (*scope, i)
        picked = [(t, entries_at([order.index(j) for j in g])) for g, t in used]
        for at in itertools.product(*(range(many[j]) for j in order)):
            total = 0
            for known, pick in picked:
                total += known[pick(at)]
            rest = at[:-1]
            if rest not in table or total > table[rest]:
                table[rest] = total
        factors = [x for x in factors if i not in x[0]]
        if scope:
            factors.append((scope, table))
        else:
            best += table[()]
    return best


def largest_of_order(sizes, order, power):
    """Return the largest change over all subsets of so many variables, or None."""
    sizes = sorted(sizes)
    kinds = {size: states(size) for size in sizes}
    cases = [
        math.comb(sizes.count(size) + len(kinds[size]) - 1, sizes.count(size))
        for size in kinds
    ]
    if math.prod(cases) * len(sizes) * order > MOST_WORK:
        return None

    def longer(products, pairs):
        grown = [dict(x) for x in products]
        for k, shorter in enumerate(products[:-1], start=1):
            for pair, number in times(shorter, pairs).items():
                grown[k][pair] = grown[k].get(pair, 0) + number
        return grown

    def walk(place, least, products, binary):
        if place == len(sizes):
            every = sum(moved(x, False, power) for x in products[1:])
            whole = sum(moved(x, False, power) for x in binary[1:])
            return every - whole + sum(moved(x, True, power) for x in binary[1:])
        size, found = sizes[place], []
        least = least if place and sizes[place - 1] == size else 0
        for number in range(least, len(kinds[size])):
            pairs = kinds[size][number]
            both = longer(binary, pairs) if size == 2 else binary
            found.append(walk(place + 1, number, longer(products, pairs), both))
        return max(found)

    start = [{(1, 1): 1}, *({} for _ in range(order))]
    return walk(0, 0, start, start)


def coefficients(sizes, groups, order):
    """Return the number of Fourier coefficients, with that of no variables."""
    if order is not None:
        numbers = [1] + [0] * order
        for size in sizes:
            for k in range(order, 0, -1):
                numbers[k] += (size - 1) * numbers[k - 1]
        return sum(numbers)
    if sum(2 ** len(x) for x in groups) > MOST_WORK:
        raise NotCovered("networks whose tables have so many variables")
    subsets = {
        x
        for group in groups
        for k in range(len(group) + 1)
        for x in itertools.combinations(sorted(group), k)
    }
    return sum(math.prod(sizes[i] - 1 for i in x) for x in subsets)


def check_fourier(content, sizes, groups, near, power):
    """Return the number of coefficients, and what the sum of their changes may be.

    The changes are taken to the power 1 or 2.
    """
    stated = content["statistic"]
    printed, order = stated["kind"] == PRINTED, stated.get("order")
    known = ["kind", "basis"] if order is None else ["kind", "basis", "order"]
    members(stated, known, (), "`statistic`")
    need(stated["basis"] == "residual contrasts with level 0", "the basis is unknown")
    need((order is None) == (groups is not None), "needed: `order` or `parents`")
    if order is not None:
        integer(order, 1, len(sizes), "`order`")
    groups = groups and maximal(groups)
    total = coefficients(sizes, groups, order)
    if printed:
        plain = near == "replace-one" and order is None and set(sizes) == {2}
        need(plain, "coefficients as printed need a binary network under replace-one")
        return total, [(2**power * total, False)]
    if near == "add-remove":
        return total, [(total, True)]
    bound = 2**power * (total - 1)
    if order is not None or len(groups) == 1:
        within = range(len(sizes)) if order else groups[0]
        within = [sizes[i] for i in within]
        exact = largest_of_order(within, order or len(within), power)
    else:
        exact, bound = largest_in_network(groups, sizes, power)
    return total - 1, [(exact, True), (bound, False)]


# ---- The noise table and its certificate.


def exp(x):
    """Return the exponential of a fraction, to 120 digits."""
    context = decimal.Context(prec=120, Emin=-(10**9), Emax=10**9)
    return Fraction(context.exp(context.divide(x.numerator, x.denominator)))


def noise_table(rho):
    """Return the thresholds of each digit, and of the top digit after an overflow."""
    need(Fraction(1, 2**23) <= rho <= 30, "epsilon over sensitivity is out of range")
    rates = [rho * (1 - Fraction(1, 2**40))]
    while 32 * rates[-1] < 20:
        rates.append(16 * rates[-1])
    top = min(32, math.ceil(20 / rates[-1]))
    below = [[1 - exp(-rate * c) for c in range(1, 17)] for rate in rates[:-1]]
    shares = [[x / one[-1] for x in one[:-1]] for one in below]
    last = [1 - exp(-rates[-1] * c) for c in range(1, top + 1)]
    shares.append(last)
    zero = (1 - exp(-rates[0])) / (1 + exp(-rates[0]))
    shares[0] = [zero, *(zero + (1 - zero) * x for x in shares[0])]
    bits = [127] + [128] * (len(shares) - 1)
    digits = [[nearest(x, b) for x in one] for one, b in zip(shares, bits)]
    return digits, [nearest(x, 128) for x in last]


def nearest(share, bits):
    """Return a share of 2^bits, rounded, at most 2^bits - 1."""
    return min(math.floor(share * 2**bits + Fraction(1, 2)), 2**bits - 1)


def fingerprint(digits, redraw):
    """Return the digest of a noise table."""
    found = hashlib.sha256()
    for thresholds in (*digits, redraw):
        places = (96, 64, 32, 0)
        words = [x >> place & 0xFFFFFFFF for x in thresholds for place in places]
        found.update(f"(({len(thresholds)}, 4), '<u4')".encode())
        found.update(struct.pack(f"<{len(words)}I", *words))
    lengths = [len(x) for x in digits]
    found.update(f"(({len(digits)},), '<i4')".encode())
    found.update(struct.pack(f"<{len(digits)}i", *lengths))
    for number in (len(digits) - 1, len(redraw)):
        found.update(b"((), '<i4')" + struct.pack("<i", number))
    return found.hexdigest()


def certify(digits, redraw, rho):
    """Refuse a table unless no ratio of neighbouring probabilities is above e^rho."""

    def masses(thresholds, bits):
        edges = [0, *thresholds, 2**bits]
        return [b - a for a, b in zip(edges[:-1], edges[1:])]

    zero, *first = masses(digits[0], 127)
    higher = [masses(x, 128) for x in digits[1:]]
    laws, again = [first, *higher], masses(redraw, 128)
    need(min(zero, *again, *(min(x) for x in laws)) > 0, "a noise probability is 0")
    one = Fraction(first[0], 2) * math.prod(Fraction(x[0], 2**128) for x in higher)
    ratios, carry = [zero / one], Fraction(1)
    for law in laws[:-1]:
        ratios += [carry * Fraction(a, b) for a, b in zip(law[:-1], law[1:])]
        carry *= Fraction(law[-1], law[0])
    *top, overflow = laws[-1]
    *rest, more = again
    ratios += [carry * Fraction(a, b) for a, b in zip(top[:-1], top[1:])]
    ratios += [carry * Fraction(a, b) for a, b in zip(rest[:-1], rest[1:])]
    ratios.append(carry * top[-1] / overflow / Fraction(rest[0], 2**128))
    ratios.append(carry * rest[-1] / more / Fraction(rest[0], 2**128))
    largest = max(max(x, 1 / x) for x in ratios)
    need(largest <= exp_below(rho), "a ratio of probabilities is above exp(1 / scale)")


def exp_below(x):
    """Return a lower bound of the exponential of x ≥ 0: the start of its series."""
    unit = term = total = 1 << 500
    k = 0
    while term:
        k += 1
        term = term * x.numerator // (x.denominator * k)
        total += term
    return Fraction(total, unit)


def check_noise(stated, epsilon, sensitivity):
    """Refuse noise unless scale, fingerprint and certificate are as derived."""
    need(stated["scale"] == str(sensitivity / epsilon), "the noise scale differs")
    digits, redraw = noise_table(epsilon / sensitivity)
    need(stated["table"] == fingerprint(digits, redraw), "the noise table differs")
    certify(digits, redraw, epsilon / sensitivity)


# ---- The table of Gaussian noise and its certificate.


def gaussian_table(h):
    """Return the weights of 0, ..., E and of one more step, in units of 2^-128.

    The weight of E is that of all integers from E on. Their probabilities are
    geometric, and begin on the tangent of the logarithm at E - 1.
    """
    edge = math.isqrt(math.ceil(49 / (2 * h)) - 1) + 2  # seven deviations, and one
    step = math.ceil(exp(-2 * h * (edge - 1)) * 2**128)
    half = [exp(-h * z**2) for z in range(1, edge)]
    half.append(exp(-h * (edge**2 - 1)) / (1 - Fraction(step, 2**128)))
    whole = 1 + 2 * sum(half)
    weights = [nearest(x / whole, 128) for x in half]
    return [2**128 - 2 * sum(weights), *weights], step


def gaussian_fingerprint(weights, step):
    """Return the digest of the weights of -E, ..., E and of one more step."""
    numbers = [*reversed(weights[1:]), *weights, step]
    return hashlib.sha256(b"".join(x.to_bytes(16, "big") for x in numbers)).hexdigest()


def certify_gaussian(weights, step, h, rate):
    """Refuse a table unless its Rényi divergences are at most those of the rate.

    Let f(z) be exp(-h z²) up to E - 1, with the tails of the table beyond. The sum of
    f(z + s) over z is at most 1 + `lattice` max(|s|, s²) times that of f(z). The
    probabilities are those of f up to factors between exp(-`rounding`) and its inverse.
    The divergence for a shift by d thus is at most the order times d² times the sum of
    h, `lattice` and 2^22 `rounding`, if the order is at least 1 + 2^-21. Lower orders
    have no larger divergences.
    """
    edge, more = len(weights) - 1, Fraction(step, 2**128)
    slope = 2 * h * (edge - 1)
    need(slope**2 >= 98 * h, "the tails begin before seven deviations")
    need(exp(-slope) <= more <= exp(-slope / 2), "the tails have another slope")
    ideal = [exp(-h * z**2) for z in range(edge)]
    lattice = ideal[-1] * (2 * slope**2 + 3 * slope) / (2 * sum(ideal) - 1)
    ideal.append(ideal[-1] * more)
    found = [Fraction(x, weights[0]) for x in weights]
    found[-1] *= 1 - more
    off = max(abs(x / y - 1) for x, y in zip(found, ideal)) + Fraction(1, 10**100)
    rounding = off / (1 - off)
    bound = (1 + Fraction(1, 2**21)) * (h + lattice + 2**22 * rounding)
    need(off < 1 and bound <= rate, "a Rényi divergence is above that of its rate")


def check_gaussian(stated, rho, squared):
    """Yield the facts of Gaussian noise with budget ρ a row, once they are derived."""
    rate, wide = rho / squared, stated["kind"] == WIDE
    members(stated, ["kind", "variance", *["table"][wide:]], (), "`mechanism`")
    ends = (2**-47, 2**-25) if wide else (2**-25, 2)
    inside = ends[0] <= rate <= ends[1] and (rate < ends[1] or not wide)
    need(inside, "rho over the squared sensitivity is out of range")
    if wide:
        need(stated["variance"] == str(1 / (2 * rate)), "the noise variance differs")
        yield "variance", f"{stated['variance']} = {squared} / (2 · {rho})"
        return
    h = rate * (1 - Fraction(1, 2**20))
    need(stated["variance"] == str(1 / (2 * h)), "the noise variance differs")
    yield "variance", f"{stated['variance']} = {squared} / (2 · {rho} · (1 - 2^-20))"
    weights, step = gaussian_table(h)
    digest = gaussian_fingerprint(weights, step)
    need(stated["table"] == digest, "the noise table differs")
    certify_gaussian(weights, step, h, rate)
    yield "certificate", f"every Rényi divergence of order α ≤ α · {rho}"


# ---- Releases.


def check_release(document):
    """Yield the facts of a release; raise if one is wrong."""
    members(document, ["format", "version", "sha256", "content"])
    version = integer(document["version"], 1, 3, "`version`")
    content = document["content"]
    need(isinstance(content, dict), "`content` is not an object")
    rest = {x: entry for x, entry in document.items() if x != "sha256"}
    digest = sha256(canonical(rest) if version >= 3 else escaped(content))
    need(document["sha256"] == digest, "the hash differs")
    yield "hash", f"SHA-256 of the canonical form is {digest}"
    since = {"about": 3, "learned": 3, "sampled": 3, "hidden_states": 1}
    for name, first in since.items():
        known = name not in content or version >= first
        need(known, f"`{name}` needs version {first}")
    entries = set(content) - {"hidden_states", "about"}
    members(content, entries | {*SHARED}, since, "`content`")
    check_about(content.get("about", {"title": "none"}))
    library = content["library"]
    need(isinstance(library, str) and len(library) <= 40, "`library` is no name")
    integer(content.get("hidden_states", 1), 1, MOST, "`hidden_states`")
    entries = {x: content[x] for x in entries}
    yield from check_entries(entries, version)


def check_entries(content, version):
    """Yield the facts of the entries of a release, or of an earlier one."""
    statistic, mechanism = content.get("statistic"), content.get("mechanism")
    for entry in (statistic, mechanism):
        need(isinstance(entry, dict), "`statistic` or `mechanism` is not an object")
    kinds = statistic.get("kind"), mechanism.get("kind")
    if not all(isinstance(x, str) for x in kinds) or kinds not in COVERED:
        raise NotCovered(f"the kinds {kinds[0]!r:.60} and {kinds[1]!r:.60}")
    if "impossible" in content:
        raise NotCovered("impossible combinations of levels")
    squared = mechanism["kind"] in (GAUSSIAN, WIDE)
    need(version >= 3 or not squared, "Gaussian noise needs version 3")
    need(version >= 3 or kinds[0] != MARGINALS, "such counts need version 3")
    need(version >= 2 or kinds[1] != K_NORM, "K-norm noise needs version 2")
    required = ["guarantee", "mechanism", "parents", "statistic", "values", *SHARED]
    required += ["sensitivity"][: mechanism["kind"] not in (SPLIT, K_NORM)]
    members(content, required, ["learned", "sampled"], "`content`")
    (budget, *more), near, rows = guarantee(content["guarantee"])
    known = [0][squared:] if "sampled" not in content else more
    need(more == known, "the guarantee is not one of this kind of noise")
    yield "guarantee", f"{in_words((budget, *more))}, {near}, for {unit(rows)}"
    public = near == "replace-one"
    need(version >= 2 or rows == 1, "`contributions` need version 2")
    need(public or content["records"] is None, "`records` is private, and must be null")
    if public:
        integer(content["records"], 1, MOST, "`records`")
    each = budget / rows ** (2 if squared else 1)
    if "learned" in content:
        yield from check_learned(content, version)
        each = budget_of_tables(content)
    if "sampled" in content:
        need("learned" not in content, "a network that is learned has no sample")
        each = yield from check_sampled(content, near)
    yield from check_measured(content, version, near, each)


# ---- Networks that were learned from earlier releases.


def depth_of(content):
    """Return the number of earlier releases."""
    depth = 0
    while "learned" in content:
        names = ["epsilon", "earlier"]
        stated = members(content["learned"], names, ["draws"], "`learned`")
        content, depth = stated["earlier"], depth + 1
        need(isinstance(content, dict), "`earlier` is not an object")
    return depth


def draws_of(content):
    """Return the number of draws of parents since the earlier release."""
    need(isinstance(content["variables"], list), "`variables` is no list")
    draws = len(content["variables"]) - depth_of(content)
    draws = content["learned"].get("draws", draws)
    return integer(draws, 1, MOST, "the number of draws")


def budget_of_tables(content):
    """Return what is left for the tables of one row, in ε or ρ."""
    draws, stated = draws_of(content), content["learned"]
    (budget, *_), near, rows = guarantee(content["guarantee"])
    (before, *_), other, same = guarantee(stated["earlier"].get("guarantee"))
    one = content["guarantee"]["kind"] == stated["earlier"]["guarantee"]["kind"]
    need(one and (near, rows) == (other, same), "the earlier guarantee is another one")
    squared = content["mechanism"]["kind"] in (GAUSSIAN, WIDE)
    epsilon = fraction(stated["epsilon"], "the ε of a draw")
    cost = draws * (epsilon**2 / 8 if squared else epsilon)
    left = (budget - before) / rows ** (2 if squared else 1) - cost
    need(left > 0, "the draws and the earlier release cost all of the budget")
    return left


def check_learned(content, version):
    """Yield the facts of the earlier release from which a network was learned."""
    left = budget_of_tables(content)
    before, now = content["learned"]["earlier"], content["parents"]
    shared = {name: content[name] for name in SHARED}
    need(not set(before) & set(shared), "`earlier` repeats an entry")
    old = before.get("parents")
    need(isinstance(old, dict) and isinstance(now, dict), "`learned` needs `parents`")
    need(set(old) == set(now), "the earlier network has other variables")
    first, added = "learned" not in before, 0
    for name, given in now.items():
        lists = isinstance(given, list) and isinstance(old[name], list)
        need(lists, "`parents` are not lists")
        need(not (first and old[name]), "the first network has edges")
        kept = given[: len(old[name])]
        fits = kept == old[name] and len(given) <= len(kept) + 1
        need(fits, "a variable has other or more new parents")
        added += len(given) - len(kept)
    draws, one = draws_of(content), content["learned"]["epsilon"]
    need(added <= draws, "there are more new parents than draws")
    need("sampled" not in before, "the earlier release is of sampled records")
    measured = before.get("statistic")
    need(isinstance(measured, dict), "`statistic` is not an object")
    pairs = (MARGINALS, LOOSE_BLOCKS)
    need(measured.get("kind") not in pairs, "pairs are not the last tables")
    for name, fact in check_entries({**before, **shared}, version):
        yield name if name.startswith("earlier") else f"earlier {name}", fact
    yield (
        "draws",
        f"stated: {draws} of parents, each with ε = {one}; {left} is for the tables",
    )


# ---- Random samples of the records.


def check_sampled(content, near):
    """Yield the facts of a sample of the records; return its budget of a row."""
    names = ["guarantee", "rate", *["records"][: near == "replace-one"]]
    stated = members(content["sampled"], names, (), "`sampled`")
    whole, rows = guarantee(content["guarantee"])[::2]
    (budget, *more), same, one = guarantee(stated["guarantee"])
    need((same, one) == (near, 1), "the sample has another adjacency or unit")
    squared = content["mechanism"]["kind"] in (GAUSSIAN, WIDE)
    need(more == [0][squared:], "the sample's guarantee is not one of this noise")
    rate = fraction(stated["rate"], "the rate")
    need(rate < 1, "the rate is not below 1")
    loss, delta = budget, 0
    if squared:
        if rows > 1:
            raise NotCovered("samples with a δ and several rows of a person")
        need(len(whole) == 2 and 0 < whole[1] < rate, "δ is out of range")
        loss, delta = loss_of(budget, whole[1] / rate), whole[1]
    need(list(whole[1:]) == [delta], "the guarantee has another δ")
    need(max(loss, whole[0]) <= 1000, "ε is too large")
    most = exp(whole[0] / rows) * (1 + Fraction(1, 10**100))
    need(1 + rate * (exp(loss) - 1) <= most, "the sample costs more than is stated")
    if near == "replace-one":
        size = int(rate * integer(stated["records"], 1, MOST, "`records`"))
        need(content["records"] == size, "the sample has another number of records")
    yield (
        "sample",
        f"stated rate {rate}, for which a row costs {in_words((budget, *more))}",
    )
    return budget


def loss_of(rho, delta):
    """Return ε of (ε, δ), by the Rényi divergence of the order that is best for ρ."""
    low, high = -30.0, 60.0  # of the logarithm of the order minus 1
    for _ in range(200):
        third = (high - low) / 3
        one, other = (
            loss_at(float(rho), delta, x) for x in (low + third, high - third)
        )
        low, high = (low, high - third) if one < other else (low + third, high)
    return max(loss_at(rho, delta, (low + high) / 2), 0)


def loss_at(rho, delta, place):
    """Return ε at the order 1 + e^place; exact to 100 digits if ρ is a fraction."""
    if isinstance(rho, float):
        order = 1 + math.exp(place)
        log = -math.log(delta) - math.log(order)
        return rho * order + place - math.log(order) + log / (order - 1)
    order = 1 + Fraction(math.exp(place))
    logs = [ln(1 - 1 / order), ln(1 / delta), ln(order)]
    return rho * order + logs[0] + (logs[1] - logs[2]) / (order - 1)


def ln(x):
    """Return the logarithm of a fraction, to 120 digits."""
    context = decimal.Context(prec=120, Emin=-(10**9), Emax=10**9)
    return Fraction(context.ln(context.divide(x.numerator, x.denominator)))


def check_measured(content, version, near, budget):
    """Yield the facts of what was measured, and of its noise with ε or ρ a row."""
    need(isinstance(content["variables"], list), "`variables` is no list")
    sizes = [size_of(x, version) for x in content["variables"]]
    names = [x["name"] for x in content["variables"]]
    need(names and len(set(names)) == len(names), "two variables have one name")
    yield "variables", f"{len(names)}, with {', '.join(map(str, sizes))} levels"
    parents, groups = content["parents"], None
    if parents is not None:
        groups = node_groups(parents, names)
        yield "network", "parents are known, and there is no cycle"
    statistic, mechanism, parts = content["statistic"], content["mechanism"], {}
    power = 2 if mechanism["kind"] in (GAUSSIAN, WIDE) else 1
    if statistic["kind"] == COUNTS:
        need(groups is not None, "counts need `parents`")
        which = members(statistic, ["kind", "families"], (), "`statistic`")["families"]
        need(which in ("all", "maximal"), "`families` is unknown")
        measured = groups if which == "all" else maximal(groups)
        one = 2 if near == "replace-one" else 1
        parts = {names[x[-1]]: math.prod(sizes[i] for i in x) for x in measured}
        length, changes = sum(parts.values()), [(one * len(parts), True)]
        yield "tables", f"{len(parts)} measured, with {length} cells"
    elif statistic["kind"] == MARGINALS:
        measured = table_groups(statistic, names)
        check_loose(content, names, measured)
        one = 2 if near == "replace-one" else 1
        parts = {
            "*".join(names[i] for i in x): math.prod(sizes[i] for i in x)
            for x in measured
        }
        length, changes = sum(parts.values()), [(one * len(measured), True)]
        yield "tables", f"{len(measured)} measured, with {length} cells"
    elif statistic["kind"] in (BLOCKS, LOOSE_BLOCKS):
        blocks = table_blocks(statistic, names)
        measured = [set(above) | set(own) for above, own in blocks]
        if statistic["kind"] == BLOCKS:
            need(groups is not None, "these blocks need `parents`")
            fits = all(any(set(x) <= y for y in measured) for x in groups)
            need(fits, "the blocks do not have all tables of the network")
        else:
            check_loose(content, names, measured)
        length = sum(numbers_of(blocks, i, sizes, near) for i in range(len(blocks)))
        yield "tables", f"{len(blocks)} measured without known margins"
    else:
        length, changes = check_fourier(content, sizes, groups, near, power)
        yield "coefficients", f"{length} measured"
    values = content["values"]
    need(isinstance(values, list) and len(values) == length, "`values` are not all")
    most = 2**29 if power == 2 else MOST
    whole = all(type(x) is int and abs(x) <= most for x in values)
    need(whole, f"`values` are not integers up to 2^{most.bit_length() - 1}")
    yield "values", f"{length} integers"
    if mechanism["kind"] == SPLIT:
        yield from check_split(mechanism, parts, one, budget)
        return
    if mechanism["kind"] == K_NORM:
        yield from check_k_norm(mechanism, blocks, sizes, near, budget)
        return
    stated, name = content["sensitivity"], ["value", "squared_l2"][power - 1]
    members(stated, [name, "adjacency", "tight"], (), "`sensitivity`")
    value = integer(stated[name], 1, MOST, "the sensitivity")
    need(stated["adjacency"] == near, "the sensitivity is for another adjacency")
    need(type(stated["tight"]) is bool, "`tight` is neither true nor false")
    if stated["tight"] and (None, True) in changes:
        raise NotCovered("networks for which the exact sensitivity takes so much work")
    need((value, stated["tight"]) in changes, "the sensitivity differs")
    root, how = "√" * (power == 2), "exact" if stated["tight"] else "an upper bound"
    yield "sensitivity", f"{root}{value}, {how}"
    if power == 2:
        yield from check_gaussian(mechanism, budget, value)
        return
    members(mechanism, ["kind", "scale", "table"], (), "`mechanism`")
    check_noise(mechanism, budget, value)
    yield "scale", f"{mechanism['scale']} = sensitivity / {budget}"
    yield "certificate", "every ratio of neighbouring probabilities ≤ exp(1 / scale)"


def check_split(mechanism, parts, change, epsilon):
    """Yield the facts of noise with a budget for each table."""
    members(mechanism, ["kind", "parts"], (), "`mechanism`")
    stated = mechanism["parts"]
    need(isinstance(stated, list), "`parts` is no list")
    for part in stated:
        members(part, ["name", "epsilon", "scale", "table"], (), "a part")
    need([x["name"] for x in stated] == list(parts), "the parts are not the tables")
    budgets = [fraction(x["epsilon"], "a budget") for x in stated]
    need(sum(budgets) == epsilon, "the budgets do not add up to ε")
    yield "budgets", f"{' + '.join(map(str, budgets))} = {epsilon}"
    for part, budget in zip(stated, budgets):
        check_noise(part, budget, change)
    yield "scales", f"{change} / ε of each table"
    yield "certificates", "every ratio of neighbouring probabilities ≤ exp(1 / scale)"


# ---- K-norm noise.


def is_whole(place, near):
    """Return whether all cells of a block are measured, as counts."""
    return near == "add-remove" and place == 0


def numbers_of(blocks, place, sizes, near):
    """Return how many numbers a block has."""
    above, own = blocks[place]
    one = math.prod(sizes[i] for i in own) - (not is_whole(place, near))
    return math.prod(sizes[i] for i in above) * one


def times_series(one, other):
    """Multiply two polynomials."""
    product = [0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            product[i + j] += a * b
    return product


def power_series(series, exponent):
    """Return a power of a polynomial."""
    result, square = [1], series
    while exponent:
        if exponent % 2:
            result = times_series(result, square)
        exponent //= 2
        square = times_series(square, square) if exponent else square
    return result


def lattice_points(series, radius):
    """Return the number of points of a ball: the sum over j of m_j times R over j."""
    total, ways = 0, 1
    for j, m in enumerate(series[: radius + 1]):
        total += m * ways
        ways = ways * (radius - j) // (j + 1)
    return total


def joint_series(balls):
    """Return m for points within all balls, which are pairs of m and of steps."""
    if len(balls) == 1 and balls[0][1] == 1:
        return balls[0][0]
    dimension = sum(len(series) - 1 for series, _ in balls)
    counts = [
        math.prod(lattice_points(series, steps * radius) for series, steps in balls)
        for radius in range(dimension + 1)
    ]
    for j in range(1, dimension + 1):  # the j-th differences at 0
        counts[j:] = [b - a for a, b in zip(counts[j - 1 : -1], counts[j:])]
    return counts


def row_series(cells):
    """Return m for a row of cells whose sum is known."""
    below, above = (cells - 1) // 2, cells // 2  # the median: most cells on each side
    series = []
    for j in range(cells):
        signs = [b for b in range(j + 1) if b <= below and j - b <= above]
        series.append(math.comb(cells, j) * sum(math.comb(j, b) for b in signs))
    return series


def star_ball(star, blocks, sizes, near):
    """Return m for the unit ball of a star's norm, and the steps of its radius."""
    above, own = blocks[star[0]]
    cells, alone = math.prod(sizes[i] for i in own), len(star) == 1
    if alone and is_whole(star[0], near):  # the L1 norm of all cells
        return [math.comb(cells, j) << j for j in range(cells + 1)], 1
    if alone and near == "replace-one" and not above:  # all cells but the last
        k = cells - 1
        return [math.comb(k, j) * math.comb(k + j, j) for j in range(cells)], 1
    common = [i for i in above if all(i in blocks[x][0] for x in star)]
    need(alone or common, "the blocks of a star have no common margin")
    tables = []
    for above, own in (blocks[x] for x in star):
        rows = math.prod(sizes[i] for i in above if i not in common)
        row = row_series(math.prod(sizes[i] for i in own))
        tables.append((power_series(row, rows), 1))
    series = power_series(joint_series(tables), math.prod(sizes[i] for i in common))
    return series, 2 if near == "replace-one" else 1


def check_k_norm(mechanism, blocks, sizes, near, epsilon):
    """Yield the facts of K-norm noise, once they are derived."""
    stated = members(mechanism, ["kind", "groups"], (), "`mechanism`")["groups"]
    need(isinstance(stated, list) and stated, "`groups` is no list")
    for group in stated:
        entries = ["epsilon", "stars", "dimension", "points"]
        members(group, entries, (), "a group")
        stars = group["stars"]
        lists = isinstance(stars, list) and all(isinstance(x, list) for x in stars)
        need(lists and stars and all(stars), "`stars` are no lists")
    each = [place for group in stated for star in group["stars"] for place in star]
    need(all(type(x) is int for x in each), "a place of a block is no integer")
    need(
        sorted(each) == list(range(len(blocks))), "the groups have not all blocks once"
    )
    budgets = [fraction(group["epsilon"], "a budget") for group in stated]
    need(sum(budgets) == epsilon, "the budgets do not add up to ε")
    inside = all(Fraction(1, 2**20) <= x <= 30 for x in budgets)
    need(inside, "the budget of a group is out of range")
    total = " + ".join(map(str, budgets)) + f" = {epsilon}" * (len(budgets) > 1)
    yield "budgets", f"{total}, of the groups of tables"
    digests = {}
    for group in stated:
        balls = [star_ball(star, blocks, sizes, near) for star in group["stars"]]
        dimension = sum(len(series) - 1 for series, _ in balls)
        stated_as = integer(group["dimension"], 1, MOST_NUMBERS, "a dimension")
        need(stated_as == dimension, "the dimension of a group differs")
        alike = repr(balls)
        if alike not in digests:
            series = joint_series(balls)
            need(min(series) >= 0, "a coefficient of the numbers of points is negative")
            digests[alike] = sha256(",".join(map(str, series)))
        need(group["points"] == digests[alike], "the numbers of points differ")
    dimensions = ", ".join(str(group["dimension"]) for group in stated)
    yield "points", f"of the groups' unit balls, in dimension {dimensions}"
    yield "certificate", "every ratio of neighbouring probabilities ≤ exp(ε)"


# ---- Public facts.

FACTS = "title description record period region steward contact published use".split()


def check_about(facts):
    """Raise unless these are public facts for readers, of which nothing depends."""
    need(isinstance(facts, dict) and facts, "`about` has no facts")
    for name, text in facts.items():
        need(name in FACTS, f"`about` has the unknown fact {name!r:.60}")
        is_line = isinstance(text, str) and text.strip() and text.isprintable()
        need(is_line and len(text) <= 2000, f"the fact {name!r} is no line of text")


# ---- Ledgers.

ENDS = {"day": 10, "month": 7, "year": 4}  # characters of a date that name a period


def check_ledger(text):
    """Yield the facts of a ledger; raise if one is wrong."""
    *lines, rest = text.split("\n")
    need(not rest and lines, "the last line is not whole")
    first = read_json(lines[0])
    form, budget = first.get("format"), first.get("budget")
    if form in ("dpjax-ledger-3", "dpjax-ledger-4"):
        members(first, ["format", "budget", "inode"], ["period"], "the first line")
        budget = guarantee(budget)
    elif form == "dpjax-ledger-2":
        known = ["format", "budget", "adjacency", "inode"]
        members(first, known, ["period"], "the first line")
        described = {
            "kind": "pure-dp",
            "epsilon": budget,
            "adjacency": first["adjacency"],
        }
        budget = guarantee(described)
    else:
        raise NotCovered(f"ledgers of format {form!r:.60}")
    written, inode = canonical, first["inode"]
    if form != "dpjax-ledger-4":
        written, inode = escaped, str(integer(inode, 0, 2**64 - 1, "`inode`"))
    digits = isinstance(inode, str) and re.fullmatch("0|[1-9][0-9]{0,19}", inode)
    need(digits and int(inode) < 2**64, "`inode` is no number")
    need(lines[0] == written(first), "the first line is not in its canonical form")
    period = first.get("period")
    need(period is None or period in ENDS, "the period is unknown")
    limit, near, rows = budget
    yield "budget", f"{in_words(limit)}, {near}, for {unit(rows)}"
    yield from check_charges(lines, written, form, budget, period)


def check_charges(lines, written, form, budget, period):
    """Yield the facts of the charges, which follow the first line."""
    limit = budget[0]
    nothing = (Fraction(0),) * len(limit)
    chain, last, shared, parts, total = lines[0], "", nothing, {}, nothing
    for number, line in enumerate(lines[1:], start=2):
        what, entry = f"line {number}", read_json(line)
        cost = check_charge(entry, what, form, budget, period)
        body = {name: value for name, value in entry.items() if name != "chain"}
        chain = sha256(chain + written(body))
        need(entry["chain"] == chain, f"the hash of {what} differs")
        need(line == written(entry), f"{what} is not in its canonical form")
        if period is not None:
            need(entry["date"] >= last, f"{what} is out of order")
            if entry["date"][: ENDS[period]] != last[: ENDS[period]]:
                shared, parts = nothing, {}  # the budget is renewed
            last = entry["date"]
        if "part" in entry:
            parts[entry["part"]] = plus(parts.get(entry["part"], nothing), cost)
        else:
            shared = plus(shared, cost)
        total = plus(shared, tuple(map(max, zip(nothing, *parts.values()))))
        within = all(spent <= most for spent, most in zip(total, limit))
        need(within, f"{what} overspends the budget")
    yield "charges", f"{len(lines) - 1}, each within what was left of the budget"
    yield "chain", f"the last hash is {chain}"
    yield "spent", in_words(total) + (f" in the {period} of {last}" if period else "")


def check_charge(entry, what, form, budget, period):
    """Return the numbers of the cost of a charge, of the kind of the budget."""
    price = "epsilon" if form == "dpjax-ledger-2" else "cost"
    dated = period is not None or form == "dpjax-ledger-4"
    date = ["date"] if dated else []
    members(entry, ["chain", price, "purpose", *date], ["part"], what)
    need(isinstance(entry["purpose"], str), f"the purpose of {what} is no text")
    part = entry.get("part", "the whole table")
    need(isinstance(part, str) and part, f"the part of {what} has no name")
    try:
        dates = [datetime.date.fromisoformat(entry[x]).isoformat() for x in date]
    except (TypeError, ValueError):
        dates = None
    need(dates == [entry[x] for x in date], f"the date of {what} is no date")
    if price == "epsilon":
        return fraction(entry[price], f"the cost of {what}"), Fraction(0)
    (limit, *neighbours), (cost, *same) = budget, guarantee(entry[price])
    need(same == neighbours, f"the cost of {what} is for other neighbours")
    if len(limit) == 1 and entry[price]["kind"] == "pure-dp":
        return (cost[0] ** 2 / 2,)  # pure differential privacy is zero-concentrated
    need(len(cost) == len(limit), f"the cost of {what} is of another kind")
    return cost


def plus(one, other):
    """Add two costs."""
    return tuple(a + b for a, b in zip(one, other))


def in_words(numbers):
    """Return the numbers of a guarantee as text."""
    if len(numbers) == 1:
        return f"ρ = {numbers[0]}"
    return f"ε = {numbers[0]}" + (f", δ = {numbers[1]}" if numbers[1] else "")


# ---- The command line.


def check(text):
    """Return the facts of a file."""
    try:
        first = read_json(text.partition("\n")[0])
    except Refused:
        first = None
    form = first.get("format") if isinstance(first, dict) else None
    if isinstance(form, str) and form.startswith("dpjax-ledger-"):
        return list(check_ledger(text))
    document = read_json(text)
    known = isinstance(document, dict) and document.get("format") == "dpjax-release"
    need(known, "the file is neither a release nor a ledger")
    return list(check_release(document))


def shown(error):
    """Return a short line without characters that control a terminal."""
    return "".join(x if x.isprintable() else ascii(x)[1:-1] for x in str(error)[:300])


def main(arguments):
    """Check the file that the command line names; return the exit status."""
    if len(arguments) != 1:
        print(__doc__.strip())
        return 2
    try:
        with open(arguments[0], encoding="utf-8", newline="") as file:
            facts = check(file.read())
    except NotCovered as error:
        print(f"not covered: {shown(error)}. Nothing is verified.")
        return 2
    except (Refused, OSError, UnicodeError, RecursionError) as error:
        print(f"refused: {shown(error)}.")
        return 1
    except (TypeError, KeyError, AttributeError, IndexError):
        print("refused: an entry of the file has another type than it must have.")
        return 1
    for name, text in facts:
        print(f"{name + ':':<14} {text}")
    print(f"verified: {len(facts)} facts")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
