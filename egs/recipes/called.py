"""Words of a recipe's shell scripts where a command or a script of the recipe stands, and what such a word may have meant."""

import os
import re

# A word where a command or an argument of a script such as run.pl stands, and not a path, an option or a part of one.
WORD = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+"
ARGUMENT = re.compile(rf"(?:^|(?<=[\s|;&(`:\"']))({WORD})(?=\s|$)", re.M)
# A word that a shell runs: at the beginning of a command, in a pipe that a table's name has, or behind the log of run.pl and its relatives.
BEFORE = r"(?:^|[|;&`!]|(?<![=(])\(|\{\s|\b(?:then|do|else|if|elif|while|until|time|exec)\s|\.log[\"']?\s|[\"']ark[a-z,]*:)"
COMMAND = re.compile(rf"{BEFORE}\s*({WORD})(?=\s|;|$)")
GOES_ON = re.compile(r"(?:[|(;!{]|&&|\b(?:then|do|else)|\.log[\"']?)\s*$")
# Scripts of a recipe, named from its folder.
SCRIPT = re.compile(r"(?<![\w/.$}@%~*-])((?:\./)?(?:steps|utils|local|sid|rnnlm|diarization)/[\w./+-]*\w\.(?:sh|pl|py))(?![\w./-])")
# Shorter names resemble many words.
SHORTEST = 8


def without_documents(text):
    """The text with blank lines in the place of here-documents, whose lines are no commands."""
    lines, end = [], None
    for line in text.split("\n"):
        if end:
            if line.strip() == end:
                end = None
            lines.append("")
            continue
        found = re.search(r"<<-?\s*(['\"\\]?)(\w+)", line)
        if found and not re.search(r"<<<|\(\(", line):
            end = found.group(2)
        lines.append(line)
    return "\n".join(lines)


def commands(text):
    """Pairs of a line's number and a word that the shell runs there."""
    found, before = [], ""
    for number, line in enumerate(without_documents(text).split("\n"), 1):
        begins = not before.endswith("\\") or GOES_ON.search(before[:-1])
        for match in COMMAND.finditer(line):
            mark = match.group(0)[: -len(match.group(1))].strip()
            # (Edits of networks and the like have semicolons between them, in quotes.)
            if (mark or match.start() > 0 or begins) and not (mark in ";&!{" and mark and quoted(line[: match.start()])):
                found.append((number, match.group(1)))
        before = line.rstrip()
    return found


def quoted(text):
    """True if a quotation is open at the end of a line's beginning."""
    text, quote = re.sub(r"\\.", "", text), ""
    for letter in text:
        if letter == quote:
            quote = ""
        elif not quote and letter in "'\"":
            quote = letter
    return bool(quote)


def functions(text):
    """Names of the functions of a script."""
    return set(re.findall(r"(?:^|[;{}&|]|\bfunction\s)\s*([\w-]+)\s*\(\s*\)", text, re.M))


def scripts(text):
    """Pairs of a line's number and the name of a script, as it is written from the recipe's folder."""
    lines = enumerate(without_documents(text).split("\n"), 1)
    return [(number, name[2:] if name.startswith("./") else name) for number, line in lines for name in SCRIPT.findall(line)]


def optional_scripts(text):
    """Scripts whose existence is asked for, and those that the script itself makes or copies."""
    asked = re.findall(r"(?<!\w)-[efrsxL]\s+[\"']?((?:\./)?[\w./+-]+\.(?:sh|pl|py))", text)
    made = re.findall(r">\s*[\"']?([\w./+-]+\.(?:sh|pl|py))", text) + re.findall(r"\b(?:cp|ln|mv|chmod|install)\s[^\n;|&]*?\b([\w/+-]+\.(?:sh|pl|py))\s*(?=$|[;&|])", text, re.M)
    return {name[2:] if name.startswith("./") else name for name in asked + made}


def distance(a, b, most):
    """Letters that are changed, left out, added or exchanged with the next one to make b of a; more than most if there are more."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    # (A change of a letter changes the letters of a word by two at most.)
    if len(set(a) ^ set(b)) > 2 * most:
        return most + 1
    before, last = [], list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most and min(last) > most:
            return most + 1
        before, last = last, row
    return last[-1]


def nearest(name, names, most):
    """The name that differs least, by at most so many letters, or None."""
    near = min(((distance(name, other, most), other) for other in names), default=(most + 1, None))
    return near[1] if near[0] <= most else None


def known_name(name, known):
    """True for a program, and for a job that is called after one, with a number."""
    return name in known or re.sub(r"-(parallel|\d+)$", "", name) in known


def misspelt(texts, known, progress=None):
    """Words at places of commands and arguments that are no program, each with the program that it resembles most."""
    found, long = {}, [program for program in known if len(program) >= SHORTEST]
    names = sorted(set().union(*(ARGUMENT.findall(text) for text in texts)))
    for number, name in enumerate(names):
        if progress:
            progress.say("compared", number, "of", len(names), "names with those of programs")
        if len(name) < SHORTEST or known_name(name, known):
            continue
        near = nearest(name, long, 1 if len(name) < 12 else 2)
        if near:
            found[name] = near
    return found


def unknown_commands(texts, known, exists):
    """Words that a shell would run and that are no program, function or file: each with the program that it resembles most, or None."""
    own = set().union(*map(functions, texts.values()))
    names = {name for text in texts.values() for _, name in commands(text)}
    return {name: nearest(name, known, 2 if len(name) >= SHORTEST else 1) for name in names - own if not known_name(name, known) and not exists(name)}


def lost_scripts(texts, root, there):
    """Scripts that are named and do not exist: {name: (places, the existing name that it resembles most, or None)}. Those of folders that are not
    there at all are left out, and those for whose existence a script asks first."""
    optional = set().union(*map(optional_scripts, texts.values()))
    found = {}
    for path, text in texts.items():
        for number, name in scripts(text):
            folder = name.split("/")[0]
            if name in optional or not os.path.isdir(os.path.join(root, folder)) or os.path.exists(os.path.join(root, name)):
                continue
            found.setdefault(name, []).append((path, number))
    return {name: (places, nearest_script(name, there)) for name, places in found.items()}


def dead_link(root, name):
    """The first part of a path that is a link to something that does not exist, and where it leads, or None."""
    parts = name.split("/")
    for end in range(1, len(parts) + 1):
        part = "/".join(parts[:end])
        path = os.path.join(root, part)
        if os.path.islink(path) and not os.path.exists(path):
            return part, os.readlink(path)
    return None


def nearest_script(name, there):
    """The script whose path resembles a name, or that lies elsewhere under the same name, or None."""
    near = nearest(name, there, 2)
    if near:
        return near
    stem, ending = os.path.splitext(os.path.basename(name))
    elsewhere = sorted(other for other in there if os.path.basename(other) == os.path.basename(name))
    others = sorted(other for other in there if os.path.dirname(other) == os.path.dirname(name) and os.path.splitext(os.path.basename(other))[0] == stem)
    return (elsewhere + others or [None])[0] if ending else None
