#!/usr/bin/env python3
"""Finds places in shell scripts where a value from data, options or names could be evaluated. shellcheck does not look for these.

Within arithmetic, subscripts and the like, bash evaluates the text of variables, `a[$(command)]` too. So a variable there must be one of
which the scripts see to it that it is a number: each assignment is a number, arithmetic, a count or another such variable, or `number`,
`number_in` or `numbers` (scripts/common/values.sh) check it, or it is an option of the type integer. `eval`, assignments to variables with
computed names, `awk -v`, programs in double quotes and fixed temporary names are found, too.

A comment `# lint: reason` allows what is on its line. `# lint: whole: a b $1` says that these are whole numbers: variables in the whole
script, parameters in the function that begins there.

Usage: lint-shell.py FILE ...
       lint-shell.py --expect FILE    succeeds if exactly the lines with a comment `# found` are reported
"""

import re
import sys
from pathlib import Path

NAME = r"[A-Za-z_]\w*"
BUILT_IN = {"SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "RANDOM", "EUID", "UID", "PPID", "BASHPID", "BASH_REMATCH"}
COUNTS = r"(count_lines|wc|grep -\w*c|nproc|jobs_for|stat -c %s)\b"
RULES = [
    (r"(?:^|[;&|({]|\bthen|\bdo|\belse)\s*eval\s", "eval evaluates its words"),
    (r"(?:^|[;&|({]|\bthen|\bdo|\belse)\s*let\s", "let evaluates its words"),
    (r"\b(?:declare|local|typeset)\s+-\w*i\w*\s", "an integer variable evaluates what is assigned"),
    (r"\bprintf\s+-v\s+\"?[$\x01]", "the name of the variable is computed: printf -v evaluates subscripts in it"),
    (r"\[\[\s[^]]*?(?<![\w-])-v\s|\btest\s+-v\s", "-v evaluates subscripts"),
    (r"\s-(?:eq|ne|lt|le|gt|ge)\s", "-gt and the like evaluate both sides: compare in (( )), or with [ ] after number"),
    (r"\bawk\b[^|;\n]*?\s-v\b", "awk -v interprets backslashes: use ENVIRON"),
    (r"\bawk\b[^|;\n]*?'\x02*'\s+\"?[A-Za-z_]\w*=", "awk interprets backslashes in assignments: use ENVIRON"),
    (r"\b(?:python3?|perl|ba?sh)\s+(?:-\w+\s+)*-\w*[ce]\s+\"[^\"\x02]*[$\x01]", "a program with values in it: give them as arguments"),
    (r"\b(?:unset|read)\s+(?:-[a-tv-z]+\s+)*\"?[$\x01]", "the name of the variable is computed"),
    (r"\bfor\s+\w+\s+in\s+[^;\n]*?(?<![\"\w])[$](?![({@]|#)", "words of a variable without quotes are patterns of file names: read -ra"),
]


class Script:
    """A script's code without comments and text, and the arithmetic in it."""

    def __init__(self, path):
        self.path, self.text = path, Path(path).read_text()
        self.code = list(self.text)  # text in quotes becomes blanks
        self.arithmetic = []  # (where, expression)
        self.allowed, self.claims, self.parameters = set(), set(), {}
        self.heredocs = []
        self.read_code(0, None)
        self.code = "".join(self.code)
        # Functions, with the variables that are their own.
        self.functions = []
        for match in re.finditer(rf"^ *({NAME})\(\) [{{(](.*)$", self.text, re.M):
            end = re.compile(r"^ *[})]", re.M).search(self.text, match.end())
            end = match.end() if re.search(r"[})] *(#.*)?$", match.group(2)) or not end else end.start()
            declared = re.findall(r"\b(?:local|declare)\s+([^\n;]*(?:\\\n[^\n;]*)*)", self.text[match.start() : end])
            declared = [re.sub(r"\$\(\(.*?\)\)", "0", words) for words in declared]
            own = {name for words in declared for name in re.findall(rf"(?:^|\s)({NAME})(?==|\s|$)", words)}
            self.functions.append((match.start(), end, f"{path}:{match.group(1)}", own))

    def scoped(self, name, at):
        """A variable: its name, with the function's before it if it is local there."""
        for begin, end, function, own in self.functions:
            if begin <= at <= end and name in own:
                return f"{function}:{name}"
        return name

    def line(self, at):
        return self.text.count("\n", 0, at) + 1

    def blank(self, begin, end, by=" "):
        for i in range(begin, end):
            if self.code[i] != "\n":
                self.code[i] = by

    def comment(self, at):
        end = self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        comment = self.text[at:end]
        claim = re.match(r"# lint: whole: ((?:\$?\w+ ?)+)", comment)
        found = re.search(r"# lint: ", comment)
        if claim:
            names = claim.group(1).split()
            self.claims.update((name, at) for name in names if name[0] != "$")
            line = self.line(at)
            last = line
            lines = self.text.split("\n")
            while last < len(lines) and not re.match(r"\}|.*;? \}\s*(#.*)?$", lines[last]):
                last += 1
            for number in range(line, last + 2):
                self.parameters.setdefault(number, set()).update(name[1:] for name in names if name[0] == "$")
        if found:
            self.allowed.add(self.line(at))
        self.blank(at, end)
        return end

    def read_code(self, i, end):
        text, depth = self.text, 0
        while i < len(text):
            c = text[i]
            if c == "\\":
                self.blank(i, min(i + 2, len(text)))
                i += 2
            elif c == "'":
                close = text.index("'", i + 1)
                self.blank(i + 1, close, "\x02")
                i = close + 1
            elif text.startswith("$'", i):
                i += 2
                while text[i] != "'":
                    step = 2 if text[i] == "\\" else 1
                    self.blank(i, i + step)
                    i += step
                i += 1
            elif c == '"':
                i = self.read_quoted(i + 1)
            elif c == "$" or c == "`":
                i = self.read_expansion(i)
            elif c == "#" and (i == 0 or text[i - 1] in " \t\n;(") and end != "}":
                i = self.comment(i)
            elif text.startswith("((", i) and (i == 0 or text[i - 1] in " \t\n;!({&|"):
                i = self.read_arithmetic(i + 2, "))")
            elif text.startswith("<<", i) and not text.startswith("<<<", i) and (i == 0 or text[i - 1] != "<"):
                match = re.compile(r"<<-?\s*(['\"]?)(\w+)\1").match(text, i)
                if match:
                    self.heredocs.append((match.group(2), bool(match.group(1))))
                    i = match.end()
                else:
                    i += 2
            elif c == "\n":
                i += 1
                while self.heredocs:
                    i = self.read_heredoc(i, *self.heredocs.pop(0))
            elif end == ")" and c == "(":
                depth, i = depth + 1, i + 1
            elif c == end:
                if depth == 0:
                    return i + 1
                depth, i = depth - 1, i + 1
            else:
                match = re.compile(rf"({NAME})\[").match(text, i) if (i == 0 or not re.match(r"[\w$]", text[i - 1])) else None
                if match and re.compile(r"[^\]\n]*\]\+?=").match(text, match.end()):
                    close = self.bracket(match.end())
                    self.arithmetic.append((i, text[match.end() : close], match.group(1)))
                i += 1
        return i

    def bracket(self, i):
        """Where the bracket closes that was opened before i."""
        depth = 0
        while depth or self.text[i] != "]":
            depth += (self.text[i] == "[") - (self.text[i] == "]")
            i += 1
        return i

    def read_heredoc(self, i, word, quoted):
        end = re.compile(rf"^\t*{word}$", re.M).search(self.text, i)
        stop = end.start() if end else len(self.text)
        if quoted:
            self.blank(i, stop)
            return end.end() if end else stop
        while i < stop:
            if self.text[i] == "\\":
                i += 2
            elif self.text[i] in "$`":
                i = self.read_expansion(i)
            else:
                self.blank(i, i + 1)
                i += 1
        return end.end() if end else stop

    def read_quoted(self, i):
        text = self.text
        while text[i] != '"':
            if text[i] == "\\":
                self.blank(i, i + 2)
                i += 2
            elif text[i] in "$`":
                begin = i
                i = self.read_expansion(i)
                if i > begin + 1:
                    self.code[begin] = "\x01"
                if text.startswith("${", begin):
                    self.code[begin:i] = ["\x01" if c == "$" else c for c in self.code[begin:i]]
            else:
                self.blank(i, i + 1, "_")
                i += 1
        return i + 1

    def read_expansion(self, i):
        text = self.text
        if text.startswith("$((", i):
            return self.read_arithmetic(i + 3, "))")
        if text.startswith("$[", i):
            return self.read_arithmetic(i + 2, "]")
        if text.startswith("$(", i):
            return self.read_code(i + 2, ")")
        if text.startswith("${", i):
            return self.read_parameter(i + 2)
        return i + 1

    def read_parameter(self, i):
        text = self.text
        name = re.compile(rf"[#!]?({NAME}|\d+|[@*#?$!-])").match(text, i)
        i = name.end() if name else i
        if text[i] == "[":
            close = self.bracket(i + 1)
            self.arithmetic.append((i, text[i + 1 : close], name.group(1)))
            i = close + 1
        if text[i] == ":" and text[i + 1] not in "-+=?":
            match = re.compile(r":([^}\"']*)\}").match(text, i)
            if match:
                self.arithmetic.append((i, match.group(1).replace(":", " "), None))
        while text[i] != "}":
            if text[i] == "\\":
                i += 2
            elif text[i] == '"':
                i = self.read_quoted(i + 1)
            elif text[i] in "$`":
                i = self.read_expansion(i)
            else:
                i += 1
        return i + 1

    def read_arithmetic(self, i, end):
        begin, depth, text = i, 0, self.text
        while depth or not text.startswith(end, i):
            if text[i] == "(":
                depth += 1
            elif text[i] == ")":
                depth -= 1
            elif text[i] == "$" and text.startswith(("$(", "${", "$["), i):
                i = self.read_expansion(i)
                continue
            elif text[i] == '"':
                i = self.read_quoted(i + 1)
                continue
            i += 1
        self.arithmetic.append((begin, text[begin:i], None))
        self.blank(begin, i)
        return i + len(end)


def word_end(text, i):
    """End of the shell word that begins at i."""
    pairs, open_, quote = {"(": ")", "{": "}"}, [], ""
    while i < len(text):
        c = text[i]
        if c == "\\":
            i += 1
        elif quote == "'":
            quote = "" if c == "'" else quote
        elif c == '"':
            quote = "" if quote and not open_ else quote if open_ else '"'
        elif c == "'" and not quote:
            quote = "'"
        elif c == "$" and text[i + 1 : i + 2] in pairs:
            open_.append(pairs[text[i + 1]])
            i += 1
        elif open_ and c == "(":
            open_.append(")")
        elif open_ and c == open_[-1]:
            open_.pop()
        elif not open_ and not quote and c in " \t\n;)|&":
            break
        i += 1
    return i


class Group:
    """Scripts that read each other: which of their variables are whole numbers."""

    def __init__(self, scripts):
        self.good, self.bad, self.depends = set(BUILT_IN), set(), {}
        self.maps = set()
        checked = set()
        for script in scripts:
            text = script.text
            checked |= {script.scoped(name, at) for name, at in script.claims}
            for match in re.finditer(rf"\b(?:number|number_in)\s+({NAME})\s+(?:whole)\b|\bnumbers\s+({NAME})\s", text):
                checked.add(script.scoped(match.group(1) or match.group(2), match.start()))
            for match in re.finditer(r"^option ([\w-]+) integer\b", text, re.M):
                checked.add(match.group(1).replace("-", "_"))
            for match in re.finditer(rf"\b(?:declare|local)\s+-\w*A\w*((?:\s+{NAME}(?:=\([^)]*\))?)+)", text):
                self.maps.update(re.findall(rf"(?:^|\s)({NAME})", match.group(1)))
            self.assignments(script)
        self.good |= checked
        self.bad -= checked
        changed = True
        while changed:
            changed = False
            for name, others in self.depends.items():
                if name not in self.bad and name not in checked and not all(self.is_number(other) for other in others):
                    self.bad.add(name)
                    changed = True

    def is_number(self, name):
        if name in self.good:
            return True
        if name in self.bad:
            return False
        if name in self.depends:
            return True
        # A variable that is local to a function that calls this one.
        others = [other for other in {*self.depends, *self.bad, *self.good} if other.endswith(f":{name}")]
        return bool(others) and ":" not in name and all(self.is_number(other) for other in others)

    def assignments(self, script):
        code, text = script.code, script.text
        for match in re.finditer(rf"(?<![\w$\[{{.:/%@=-])({NAME})(\[[^\]\n]*\])?\+?=", code):
            begin = match.end()
            if text[begin : begin + 1] in "=~" or text[match.start() - 1 : match.start()] in "'\"":
                continue
            if text[begin : begin + 1] == "(":
                self.depends.setdefault(script.scoped(match.group(1), begin), set())
                continue
            self.assign(script, match.group(1), begin, text[begin : word_end(text, begin)])
        for match in re.finditer(rf"\bfor\s+({NAME})\s+in\s+([^;\n]*)", code):
            if not re.fullmatch(r"[\d\s]*", match.group(2)):
                self.bad.add(script.scoped(match.group(1), match.start()))
        for match in re.finditer(rf"\b(?:read|mapfile)((?:\s+-\w+(?:\s+\S*(?=\s+-))?)*)((?:\s+{NAME})+)", code):
            self.bad.update(script.scoped(name, match.start()) for name in match.group(2).split())
        for at, expression, _ in script.arithmetic:
            for name in re.findall(rf"({NAME})\s*(?:[-+*/%]?=[^=]|\+\+|--)", expression):
                self.depends.setdefault(script.scoped(name, at), set())
        for match in re.finditer(rf"\bfor\s+({NAME});|\bfor\s+({NAME})\s*$", code):
            self.bad.add(script.scoped(match.group(1) or match.group(2), match.start()))

    def assign(self, script, name, at, value):
        name = script.scoped(name, at)
        others = self.depends.setdefault(name, set())
        value = value.strip('"')
        plain = re.fullmatch(rf"\$(?:({NAME})|\{{({NAME})(?::?-(-?\d*))?\}}|\{{({NAME})\[[^]]*\](?:-\d+)?\}})", value)
        if re.fullmatch(r"-?\d*|\$[?!$#]|\$\{#.*\}|\$\(\(.*\)\)", value, re.S) or re.match(rf"\$\({COUNTS}", value):
            return
        if plain:
            others.add(script.scoped(plain.group(1) or plain.group(2) or plain.group(4), at))
        else:
            self.bad.add(name)

    def check(self, script, at, expression, parameters):
        """The first thing in arithmetic of which nothing says that it is a number."""
        expression = re.sub(r"\$\{#[^}]*\}", "0", expression)
        for name in self.maps:
            expression = re.sub(rf"\b{name}\[[^]]*\]", name, expression)
        command = re.search(r"\$\((?!\()", expression)
        if command:
            if not re.match(COUNTS, expression[command.end() :]):
                return expression[command.start() :][:30]
            expression = expression[: command.start()] + "0"
        for name in re.findall(r"\$\{?(\d+|[@*])", expression):
            if name not in parameters:
                return f"${name}"
        if re.search(r"\$\{!", expression):
            return "a computed name"
        expression = re.sub(r"\$\{?\d+\}?|'[^']*'", "0", expression)
        for name in re.findall(rf"(?<![\w.])({NAME})", re.sub(r"\b\d+#|0x[0-9a-f]+", "", expression)):
            if not self.is_number(script.scoped(name, at)):
                return name
        return None


def problems_of(scripts, group):
    for script in scripts:
        for at, expression, array in script.arithmetic:
            line = script.line(at)
            if array is not None and (array in group.maps or expression in ("@", "*")):
                continue
            found = group.check(script, at, expression, script.parameters.get(line, ()))
            if found and line not in script.allowed:
                yield script.path, line, f"arithmetic with {found}, and nothing says that this is a number: {expression.strip()[:60]!r}"


def problems_by_rule(script):
    for number, line in enumerate(script.code.split("\n"), 1):
        if number in script.allowed:
            continue
        for pattern, sentence in RULES:
            if re.search(pattern, line):
                yield script.path, number, sentence
        if re.search(r"[\w}\"]\.tmp\b(?!\.X)", script.text.split("\n")[number - 1].split(" # ")[0]):
            yield script.path, number, "a temporary name that another file may have: make_private (scripts/common/folders.sh)"


def sources(script, by_name):
    """The scripts that a script reads, and those read in turn."""
    found, todo = [script], [script]
    while todo:
        for line in re.findall(r"(?:^|[;|&({])\s*source (.*)", todo.pop().text, re.M):
            for folder, name in re.findall(r"(?:([\w-]+)/)?([\w-]+\.sh)\b", line):
                others = by_name.get(name, [])
                here = Path(script.path).parent
                for parent in (Path(script.path).parent / folder, here):
                    others = [other for other in others if Path(other.path).parent == parent] or others
                for other in others:
                    if other not in found:
                        found.append(other)
                        todo.append(other)
    return found


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    expect = arguments[0] == "--expect"
    scripts = [Script(path) for path in arguments[expect:]]
    by_name = {}
    for script in scripts:
        by_name.setdefault(Path(script.path).name, []).append(script)
    found = set()
    groups = [sources(script, by_name) for script in scripts if script.text.startswith("#!")]
    groups += [[script] for script in scripts if not any(script in group for group in groups)]
    for group in groups:
        found.update(problems_of(group, Group(group)))
    for script in scripts:
        found.update(problems_by_rule(script))
    for path, line, sentence in sorted(found):
        print(f"{path}:{line}: {sentence}")
    if expect:
        there = {line for _, line, _ in found}
        wanted = {number for number, line in enumerate(scripts[0].text.split("\n"), 1) if line.endswith("# found")}
        for line in sorted(wanted - there):
            print(f"{scripts[0].path}:{line}: this line was to be found")
        for line in sorted(there - wanted):
            print(f"{scripts[0].path}:{line}: this line was not to be found")
        return int(there != wanted or not wanted)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
