#!/usr/bin/env python3
"""Times the programs of Gaussian systems in two folders, in turns, and prints a table.

usage: gaussian-speed.py [--turns=N] [--only=NAME,...] <folder A> <folder B> <recipe>

<recipe> is the folder egs/mini_librispeech/s5 after its run.sh has trained tri3b and made its graph; --train=NAME and --test=NAME
name other data folders than train_clean_5 and dev_clean_2. The first of the training data's parts is the input. Inputs are files
without compression, which the programs of folder A write first. Each command runs N times (3) by A and B in turns. The table has
the least user and system time of each in seconds, their ratio, and "same" if both wrote the same bytes. Then the peak of each
program's private memory in MB (RssAnon, looked at each half millisecond: a short peak may be missed) and the ratio.
"""
import glob, os, re, resource, shlex, subprocess, sys, tempfile, threading, time

ALIGN = "--transition-scale=1.0 --acoustic-scale=0.1 --self-loop-scale=0.1 --beam=10 --retry-beam=40 --careful=false"
DECODE = "--max-active=2000 --beam=10.0 --lattice-beam=6.0 --acoustic-scale=0.083333 --allow-partial=true"

# File in the temporary folder T, and the pipeline that writes it. {part} is the first part of the training data.
INPUTS = """
waves.ark          wav-copy scp:{part}/wav.scp ark:-
mfcc.ark           copy-feats scp:{part}/feats.scp ark:-
cmvn.ark           apply-cmvn --utt2spk=ark:{part}/utt2spk scp:{part}/cmvn.scp ark:T/mfcc.ark ark:-
deltas.ark         add-deltas ark:T/cmvn.ark ark:-
spliced.ark        splice-feats --left-context=3 --right-context=3 ark:T/cmvn.ark ark:-
lda.ark            transform-feats exp/tri2b/final.mat ark:T/spliced.ark ark:-
sat.ark            transform-feats --utt2spk=ark:{part}/utt2spk ark:exp/tri3b/trans.1 ark:T/lda.ark ark:-
words.ark          utils/sym2int.pl --map-oov {oov} -f 2- data/lang_nosp/words.txt {part}/text
tri1.ali           gunzip -c exp/tri1/ali.1.gz
tri1.fsts          gunzip -c exp/tri1/fsts.1.gz
tri2b.ali          gunzip -c exp/tri2b/ali.1.gz
tri2b.fsts         gunzip -c exp/tri2b/fsts.1.gz
tri3b.ali          gunzip -c exp/tri3b/ali.1.gz
tri1.post          ali-to-post ark:T/tri1.ali ark:- | weight-silence-post 0.0 {silence} exp/tri1/final.mdl ark:- ark:-
tri2b.post         ali-to-post ark:T/tri2b.ali ark:- | weight-silence-post 0.0 {silence} exp/tri2b/final.mdl ark:- ark:-
tri3b.post         ali-to-post ark:T/tri3b.ali ark:- | weight-silence-post 0.0 {silence} exp/tri3b/final.mdl ark:- ark:-
tri1.acc           gmm-acc-stats-ali exp/tri1/final.mdl ark:T/deltas.ark ark:T/tri1.ali -
test.ark           apply-cmvn --utt2spk=ark:{test}/utt2spk scp:{test}/cmvn.scp scp:{test}/feats.scp ark:- | splice-feats --left-context=3 --right-context=3 ark:- ark:- | transform-feats exp/tri3b/final.mat ark:- ark:-
ubm                gmm-global-init-from-feats --num-threads=1 --num-frames=20000 --num-gauss=64 --num-gauss-init=32 --num-iters=2 ark:T/lda.ark -
selected.ark       gmm-gselect --n=20 T/ubm ark:T/lda.ark ark:-
"""

# The commands that are timed. OUT is the file that is compared.
CASES = f"""
compute-mfcc-feats --use-energy=false --dither=0 ark:T/waves.ark ark:OUT
compute-plp-feats --dither=0 ark:T/waves.ark ark:OUT
compute-kaldi-pitch-feats ark:T/waves.ark ark:OUT
apply-cmvn --utt2spk=ark:{{part}}/utt2spk scp:{{part}}/cmvn.scp ark:T/mfcc.ark ark:OUT
add-deltas ark:T/cmvn.ark ark:OUT
splice-feats --left-context=3 --right-context=3 ark:T/cmvn.ark ark:OUT
transform-feats exp/tri2b/final.mat ark:T/spliced.ark ark:OUT
transform-feats --utt2spk=ark:{{part}}/utt2spk ark:exp/tri3b/trans.1 ark:T/lda.ark ark:OUT
compile-train-graphs --read-disambig-syms=data/lang_nosp/phones/disambig.int exp/tri2b/tree exp/tri2b/final.mdl data/lang_nosp/L.fst ark:T/words.ark ark:OUT
align-equal-compiled ark:T/tri2b.fsts ark:T/lda.ark ark:OUT
gmm-align-compiled {ALIGN} exp/tri1/final.mdl ark:T/tri1.fsts ark:T/deltas.ark ark:OUT
gmm-align-compiled {ALIGN} exp/tri2b/final.mdl ark:T/tri2b.fsts ark:T/lda.ark ark:OUT
gmm-acc-stats-ali exp/tri1/final.mdl ark:T/deltas.ark ark:T/tri1.ali OUT
gmm-acc-stats-ali exp/tri2b/final.mdl ark:T/lda.ark ark:T/tri2b.ali OUT
gmm-acc-stats-twofeats exp/tri3b/final.mdl ark:T/sat.ark ark:T/lda.ark ark:T/tri3b.post OUT
gmm-sum-accs OUT T/tri1.acc T/tri1.acc T/tri1.acc
gmm-est --mix-up=9000 --power=0.25 exp/tri1/final.mdl T/tri1.acc OUT
acc-tree-stats --ci-phones={{silence}} exp/tri1/final.mdl ark:T/deltas.ark ark:T/tri1.ali OUT
acc-lda --rand-prune=4.0 exp/tri1/final.mdl ark:T/spliced.ark ark:T/tri1.post OUT
gmm-acc-mllt --rand-prune=4.0 exp/tri2b/final.mdl ark:T/lda.ark ark:T/tri2b.post OUT
gmm-post-to-gpost exp/tri3b/final.mdl ark:T/sat.ark ark:T/tri3b.post ark:OUT
gmm-est-fmllr --fmllr-update-type=full --spk2utt=ark:{{part}}/spk2utt exp/tri3b/final.mdl ark:T/sat.ark ark:T/tri3b.post ark:OUT
gmm-latgen-faster {DECODE} --word-symbol-table=data/lang/words.txt exp/tri3b/final.alimdl exp/tri3b/graph_tgsmall/HCLG.fst ark:T/test.ark ark:OUT
gmm-gselect --n=20 T/ubm ark:T/lda.ark ark:OUT
gmm-global-acc-stats --gselect=ark:T/selected.ark T/ubm ark:T/lda.ark OUT
gmm-global-acc-stats T/ubm ark:T/lda.ark OUT
"""

IN_T = re.compile(r"^((?:--\w+=)?(?:ark:)?)T/")   # a file in the temporary folder, in a word of a command


class Peak:
    """The peak of a process's private memory in kB, while the process runs."""

    def __init__(self, process):
        self.kilobytes, self.status = 0, f"/proc/{process.pid}/status"
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        try:
            while found := re.search(r"^RssAnon:\s+(\d+)", open(self.status).read(), re.M):
                self.kilobytes = max(self.kilobytes, int(found[1]))
                time.sleep(0.0005)
        except (FileNotFoundError, ProcessLookupError):
            pass


class Folders:
    """Commands run in the recipe's folder, with one folder of programs before all others."""

    def __init__(self, recipe, temporary):
        self.recipe, self.temporary = recipe, temporary

    def expand(self, command):
        """Puts the temporary folder into a command, where it names T."""
        return " ".join(IN_T.sub(lambda m: f"{m[1]}{self.temporary}/", word) for word in command.split(" "))

    def run(self, programs, command, out=None):
        """Runs a pipeline that writes to the file `out`, or without it a program alone. Returns user and system time,
        and the peak of the private memory in kB."""
        settings = {"PATH": f"{programs}:{self.recipe}/utils:{os.environ['PATH']}", "LC_ALL": "C"}
        settings |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        command = self.expand(command)
        shell = ["bash", "-o", "pipefail", "-c"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(shell + [command] if out else shlex.split(command), cwd=self.recipe, env=os.environ | settings,
                                   stdout=out or subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        peak = Peak(process)
        messages = process.communicate()[1]
        peak.thread.join()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if process.returncode != 0:
            sys.exit(f"{programs}: {command}\n{messages[-2000:]}")
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, peak.kilobytes

    def make(self, programs, values):
        for line in INPUTS.strip().splitlines():
            name, command = line.split(None, 1)
            with open(f"{self.temporary}/{name}", "wb") as out:
                self.run(programs, command.format(**values), out)

    def time(self, both, command, turns):
        """Returns the least time of each folder's program, the largest memory, and True if their outputs are equal."""
        least, most, outputs = [float("inf")] * len(both), [0] * len(both), [None] * len(both)
        for _ in range(turns):
            for i, programs in enumerate(both):
                out = f"{self.temporary}/out"
                seconds, kilobytes = self.run(programs, f"{programs}/" + command.replace("OUT", out))
                least[i], most[i] = min(least[i], seconds), max(most[i], kilobytes)
                with open(out, "rb") as f:
                    outputs[i] = f.read()
        return least, most, outputs[0] == outputs[1]


def first_line(name):
    with open(name) as f:
        return f.readline().strip()


def main():
    if {"-h", "--help"} & set(sys.argv):
        return print(__doc__)
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    folders = [os.path.abspath(a) for a in sys.argv[1:] if not a.startswith("--")]
    if len(folders) != 3:
        sys.exit(__doc__)
    *both, recipe = folders
    parts = sorted(glob.glob(f"{recipe}/data/{options.get('train', 'train_clean_5')}/split*/1"))
    if not parts:
        sys.exit(f"{recipe}: no training data that has been split; has run.sh run?")
    values = {
        "part": shlex.quote(os.path.relpath(parts[0], recipe)),
        "test": f"data/{options.get('test', 'dev_clean_2')}",
        "silence": first_line(f"{recipe}/data/lang_nosp/phones/silence.csl"),
        "oov": first_line(f"{recipe}/data/lang_nosp/oov.int"),
    }
    only = [name for name in options.get("only", "").split(",") if name]
    with tempfile.TemporaryDirectory() as temporary:
        runner = Folders(recipe, temporary)
        runner.make(both[0], values)
        print("| program | A, s | B, s | A/B | outputs | A, MB | B, MB | A/B |\n|---|---|---|---|---|---|---|---|")
        sums = [0.0] * 4
        for case in CASES.strip().splitlines():
            name = case.split()[0]
            if only and name not in only:
                continue
            lacking = [folder for folder in both if not os.path.exists(f"{folder}/{name}")]
            if lacking:
                print(f"| {name} | – | – | – | not in {lacking[0]} | – | – | – |")
                continue
            (a, b), memory, same = runner.time(both, case.format(**values), int(options.get("turns", 3)))
            c, d = (kilobytes / 1000 for kilobytes in memory)
            sums = [sum + value for sum, value in zip(sums, (a, b, c, d))]
            print(f"| {name} | {a:.3f} | {b:.3f} | {a / max(b, 1e-6):.2f} | {'same' if same else 'differ'} "
                  f"| {c:.1f} | {d:.1f} | {c / max(d, 1e-6):.2f} |", flush=True)
        a, b, c, d = sums
        print(f"| sum | {a:.2f} | {b:.2f} | {a / max(b, 1e-6):.2f} | | {c:.1f} | {d:.1f} | {c / max(d, 1e-6):.2f} |")


if __name__ == "__main__":
    main()
