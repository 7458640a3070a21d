#!/usr/bin/env python3
"""Times discriminative training, RNNLM training, rescoring by an RNNLM and decoding while sound arrives, in turns.

usage: rest-speed.py [--turns=N] [--only=NAME,...] <folders A> <folders B> <figures>

<folders> are folders of programs with colons between them; the first folder that has a program gives it. <figures> is the folder
recipes/rest of the figures, which lies beside decoding. Programs of A write the inputs. Each command runs N times (3) by A and B in
turns. The first table has the least user and system time of each in seconds and their ratio. The second one has the least delay of a
decoder that gets a long utterance live: the time from the end of the sound to the lattice.
"""
import os, random, re, resource, shlex, subprocess, sys, tempfile, wave

SYMBOLS = "--bos-symbol=104 --eos-symbol=105 --brk-symbol=106"
# A chain model at a low scale: its lattices have many paths, so that the time of determinization counts. (With active tokens in all
# states of the small graph, a path of silence stays alive, and no chunk of frames can be settled before the end.)
LIVE = "--config=conf/online.conf --acoustic-scale=0.3 --beam=11 --lattice-beam=8 --min-active=0 --max-active=7000 {am}/digits.mdl {graphs}/digits/HCLG.fst"
IN_T = re.compile(r"(?<![\w/])T/")   # a file in the temporary folder
DELAY = re.compile(r"Average delay was (\S+) seconds")

# File in the temporary folder T, and the command that writes it. {rest}, {am}, {graphs}, {tools}, {lattices} are folders of figures.
INPUTS = """
slow.mdl      nnet3-am-copy "--edits=set-learning-rate learning-rate=0.00002" {am}/digits.mdl T/slow.mdl
rnnlm.raw     nnet3-init --srand=1 {rest}/speed/rnnlm.config T/rnnlm.raw
words.egs     rnnlm-get-egs --chunk-length=32 --num-chunks-per-minibatch=64 --vocab-size=107 {symbols} T/text.txt ark:T/words.egs
words.lat     lattice-lmrescore-const-arpa --lm-scale=-0.5 ark:T/many.lat {tools}/commands.tri.carpa ark:T/words.lat
"""

# The commands that are timed, in the folder {rest}/online. OUT stands for a file that nobody reads.
CASES = f"""
nnet3-discriminative-train --use-gpu=no --max-param-change=1 --silence-phones=1 --criterion=smbr --one-silence-class=true --acoustic-scale=0.1 T/slow.mdl ark:T/many.degs OUT
rnnlm-train --use-gpu=no --embedding.learning-rate=0.001 --read-rnnlm=T/rnnlm.raw --write-rnnlm=OUT --read-embedding=T/words.mat --write-embedding=OUT ark:T/words.egs
lattice-lmrescore-kaldi-rnnlm --lm-scale=0.5 {SYMBOLS} --max-ngram-order=4 T/words.mat T/rnnlm.raw ark:T/words.lat ark:OUT
lattice-lmrescore-kaldi-rnnlm-pruned --lm-scale=0.5 {SYMBOLS} --lattice-compose-beam=4 --acoustic-scale=0.1 --max-ngram-order=4 {{graphs}}/commands/G.fst T/words.mat T/rnnlm.raw ark:T/many.lat ark:OUT
"""

# The decoders whose delay counts; they are fast, and run five times as often.
LIVE_CASES = f"""
online2-wav-nnet3-latgen-incremental {LIVE} ark:T/spk2utt scp:T/wav.scp ark:OUT
online2-wav-nnet3-latgen-faster {LIVE} ark:T/spk2utt scp:T/wav.scp ark:OUT
"""


class Programs:
    """Folders of programs, in the order in which they are looked through."""

    def __init__(self, folders):
        self.folders = [os.path.abspath(folder) for folder in folders.split(":")]
        self.settings = {"PATH": ":".join([*self.folders, os.environ["PATH"]]), "LC_ALL": "C"}
        self.settings |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

    def has(self, name):
        return any(os.path.exists(f"{folder}/{name}") for folder in self.folders)

    def run(self, command, cwd):
        """Runs a command. Returns its user and system time, and its log."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = shlex.split(command)
        path = next((f"{folder}/{words[0]}" for folder in self.folders if os.path.exists(f"{folder}/{words[0]}")), words[0])
        done = subprocess.run([path, *words[1:]], cwd=cwd, env=os.environ | self.settings, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            sys.exit(f"{path}: {command}\n{done.stderr[-2000:]}")
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done.stderr


def repeated(source, target, count):
    with open(source, "rb") as f:
        data = f.read()
    with open(target, "wb") as f:
        f.write(data * count)


def make(programs, folders, temporary):
    """Writes the inputs: those of the figures' own measurement, lattices of twelve utterances again and again, and long recordings."""
    rest = folders["rest"]
    repeated(f"{rest}/discriminative/merged.3.degs", f"{temporary}/many.degs", 150)
    repeated(f"{rest}/rnnlm/text/train.txt", f"{temporary}/text.txt", 100)
    repeated(f"{folders['lattices']}/decode/commands/scale0.1/mapped.lat", f"{temporary}/many.lat", 40)
    values = random.Random(3)
    with open(f"{temporary}/words.mat", "w") as f:
        rows = [" ".join(f"{values.gauss(0, 0.1):.5f}" for _ in range(200)) for _ in range(107)]
        f.write(" [\n  " + "\n  ".join(rows) + " ]\n")
    with wave.open(f"{rest}/online/wav/a.wav") as f:
        settings, sound = f.getparams(), f.readframes(f.getnframes())
    with wave.open(f"{temporary}/long.wav", "wb") as f:
        f.setparams(settings)
        f.writeframes(sound * 12)
    for name, text in (("wav.scp", f"long {temporary}/long.wav\n"), ("spk2utt", "long long\n")):
        with open(f"{temporary}/{name}", "w") as f:
            f.write(text)
    for line in INPUTS.strip().splitlines():
        _, command = line.split(None, 1)
        programs.run(IN_T.sub(f"{temporary}/", command.format(symbols=SYMBOLS, **folders)), f"{rest}/online")


def table(heading, cases, chosen, turns, measure, both):
    print(f"\n| program | A, {heading} | B, {heading} | A/B |\n|---|---|---|---|")
    for case in cases.strip().splitlines():
        name = case.split()[0]
        if chosen and name not in chosen:
            continue
        if not all(programs.has(name) for programs in both):
            print(f"| {name} | – | – | not in both |")
            continue
        least = [float("inf")] * 2
        for _ in range(turns):
            least = [min(least[i], measure(programs, case)) for i, programs in enumerate(both)]
        a, b = least
        print(f"| {name} | {a:.4f} | {b:.4f} | {a / max(b, 1e-9):.2f} |", flush=True)


def main():
    if {"-h", "--help"} & set(sys.argv):
        return print(__doc__)
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(arguments) != 3:
        sys.exit(__doc__)
    both, rest = [Programs(a) for a in arguments[:2]], os.path.abspath(arguments[2])
    decoding = os.path.normpath(f"{rest}/../../decoding")
    folders = {"rest": rest, "am": f"{decoding}/lattices/am", "graphs": f"{decoding}/graphs", "lattices": f"{decoding}/lattices"}
    folders["tools"] = f"{decoding}/lattices/tools"
    chosen = [name for name in options.get("only", "").split(",") if name]
    turns = int(options.get("turns", 3))
    with tempfile.TemporaryDirectory() as temporary:
        make(both[0], folders, temporary)

        def run(programs, case):
            command = case.replace("OUT", "T/out").format(**folders)
            return programs.run(IN_T.sub(f"{temporary}/", command), f"{rest}/online")

        table("s", CASES, chosen, turns, lambda programs, case: run(programs, case)[0], both)

        def delay(programs, case):
            found = DELAY.search(run(programs, case)[1])
            return float(found[1]) if found else sys.exit(f"no delay in the log of {case.split()[0]}")

        table("delay in s", LIVE_CASES, chosen, 5 * turns, delay, both)


if __name__ == "__main__":
    main()
