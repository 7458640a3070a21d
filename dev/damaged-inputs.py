#!/usr/bin/env python3
"""Gives damaged files to the programs that read them: no program may hang, crash, or take much memory, and none may take the
beginning of a file for the whole.

Each kind of file is cut at 40 places, and 40 times one of its bytes is changed, for each program that is listed for it. A run is
a failure if it
  - does not end within --seconds,
  - is ended by a signal, panics, or has another status than 0, 1 and 255,
  - takes --megabytes more than the run with the whole file,
  - succeeds with a file that was cut, writes something else than for the whole file, and says nothing (`silent`). A table that
    is cut between two entries is a shorter table, which nothing can tell.
A changed byte may be a changed number, so another output is counted there, and is no failure.

Status 0 without failures, 1 with some, which are listed; 2 if the data cannot be made.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Commands that make the data, in a new folder. $D is the repository.
SETUP = r"""
copy-feats ark:feats.txt ark,scp:feats.ark,feats.scp
copy-feats --compress=true ark:feats.txt ark:compressed.ark
copy-matrix ark:feats.txt ark:matrices.ark
copy-matrix matrix.txt matrix.mat
compute-cmvn-stats ark:feats.txt ark:cmvn.ark
compute-cmvn-stats ark:feats.txt ark,t:cmvn.txt
feat-to-len ark:feats.txt ark,t:lengths.txt
matrix-sum-rows ark:feats.txt ark:vectors.ark
matrix-sum-rows ark:feats.txt ark,t:vectors.txt
copy-int-vector ark:ali.txt ark:ali.ark
copy-post ark:post.txt ark:post.ark
nnet3-init --srand=1 net.config net.raw
nnet3-copy --binary=false net.raw net.txt
nnet3-export net.raw net.safetensors
nnet3-get-egs --num-pdfs=3 --num-frames=8 --left-context=1 --right-context=1 ark:feats.ark ark:post.txt ark:egs.ark
nnet3-get-egs --num-pdfs=3 --num-frames=8 --left-context=1 --right-context=1 --compress=false ark:feats.ark ark:post.txt ark,t:egs.txt
nnet3-merge-egs --minibatch-size=4 ark:egs.ark ark:merged.ark
nnet3-train --use-gpu=no --write-cache=cache net.raw ark:merged.ark trained.raw
nnet3-fit --use-gpu=no --checkpoint-dir=fit --checkpoint-minibatches=1 --num-epochs=1 --optimizer=adam net.raw ark:egs.ark fitted.raw
nnet3-init --srand=3 decode.config decode.raw
nnet3-am-init $D/crates/nnet3-decode/tests/data/mono.mdl decode.raw am.mdl
nnet3-am-copy --binary=false am.mdl am.txt
copy-transition-model --binary=false $D/tests/data/am/transitions.mdl transitions.txt
copy-tree --binary=false $D/tests/data/am/tree tree.txt
copy-tree $D/tests/data/am/tree tree.bin
fstconvert --fst_type=vector $D/crates/nnet3-decode/tests/data/decode/HCLG.fst vector.fst
fstprint vector.fst vector.txt
lattice-copy --write-compact=false ark:$D/crates/nnet3-decode/tests/data/rich.lat ark:plain.lat
lattice-copy ark:$D/crates/nnet3-decode/tests/data/rich.lat ark,t:rich.txt
lattice-copy --write-compact=false ark:$D/crates/nnet3-decode/tests/data/rich.lat ark,t:plain.txt
nnet3-chain-copy-egs ark:$D/crates/nnet3-chain/tests/data/chain/training/short2.cegs ark,t:chain.txt
"""

# A file, and the commands that read it: $F is the damaged file. What goes to `out` or to standard output is compared.
CASES = r"""
feats.txt                       | copy-feats ark:$F ark:out | compute-cmvn-stats ark:$F ark:out | feat-to-len ark:$F ark,t:out
feats.ark                       | copy-feats ark:$F ark,t:out | splice-feats ark:$F ark:out | nnet3-compute --use-gpu=no net.raw ark:$F ark:out
feats.scp                       | copy-feats scp:$F ark:out | feat-to-dim scp:$F -
compressed.ark                  | copy-feats ark:$F ark,t:out
matrices.ark                    | copy-matrix ark:$F ark,t:out
matrix.mat                      | copy-matrix $F out | transform-feats $F ark:feats.ark ark:out
matrix.txt                      | copy-matrix $F out
cmvn.ark                        | apply-cmvn ark:$F ark:feats.ark ark:out
cmvn.txt                        | apply-cmvn ark:$F ark:feats.ark ark:out
vectors.ark                     | copy-vector ark:$F ark,t:out
vectors.txt                     | copy-vector ark:$F ark:out
ali.ark                         | copy-int-vector ark:$F ark,t:out
ali.txt                         | copy-int-vector ark:$F ark:out
post.ark                        | copy-post ark:$F ark,t:out | post-to-weights ark:$F ark:out
post.txt                        | copy-post ark:$F ark:out
net.config                      | nnet3-init --srand=1 $F out
net.raw                         | nnet3-info $F | nnet3-copy $F out | nnet3-average net.raw $F out | nnet3-compute --use-gpu=no $F ark:feats.ark ark:out
net.txt                         | nnet3-copy $F out
net.safetensors                 | nnet3-import $F out
egs.ark                         | nnet3-copy-egs ark:$F ark:out | nnet3-merge-egs --minibatch-size=4 ark:$F ark:out | nnet3-shuffle-egs ark:$F ark:out
egs.txt                         | nnet3-copy-egs ark:$F ark:out
merged.ark                      | nnet3-train --use-gpu=no net.raw ark:$F out | nnet3-compute-prob net.raw ark:$F
cache                           | nnet3-train --use-gpu=no --read-cache=$F net.raw ark:merged.ark out
fit/checkpoint.1.raw            | nnet3-info $F
am.mdl                          | nnet3-am-info $F | nnet3-am-copy $F out | nnet3-latgen-faster --acoustic-scale=1 --lattice-beam=4 $F $D/crates/nnet3-decode/tests/data/decode/HCLG.fst ark:four.txt ark:out
am.txt                          | nnet3-am-copy $F out
$D/tests/data/am/transitions.mdl | copy-transition-model $F out | show-transitions phones.txt $F
transitions.txt                 | copy-transition-model $F out
tree.bin                        | tree-info $F | copy-tree $F out | draw-tree phones.txt $F
tree.txt                        | copy-tree $F out
$D/tests/data/am/topo           | gmm-init-mono $F 3 out.mdl out
$D/tests/data/trees/in/topo3    | gmm-init-mono $F 3 out.mdl out
$D/tests/data/trees/in/topo1    | gmm-init-biphone $F 3 out.mdl out
$D/tests/data/trees/expected/3.tree | gmm-init-model $F $D/tests/data/trees/expected/3.acc $D/tests/data/trees/in/topo3 out
$D/tests/data/trees/expected/3.acc | sum-tree-stats out $F | build-tree --max-leaves=60 $F $D/tests/data/trees/in/roots3.int $D/tests/data/trees/expected/3.qst $D/tests/data/trees/in/topo3 out
$D/tests/data/trees/expected/3.qst | build-tree --max-leaves=60 $D/tests/data/trees/expected/3.acc $D/tests/data/trees/in/roots3.int $F $D/tests/data/trees/in/topo3 out
$D/tests/data/trees/in/roots3.int | build-tree --max-leaves=60 $D/tests/data/trees/expected/3.acc $F $D/tests/data/trees/expected/3.qst $D/tests/data/trees/in/topo3 out
$D/tests/data/trees/in/ali.txt | ali-to-pdf $D/tests/data/trees/expected/old.mdl ark:$F ark:out | ali-to-phones $D/tests/data/trees/expected/old.mdl ark:$F ark:out
$D/tests/data/trees/in/sets.int | gmm-init-mono --shared-phones=$F $D/tests/data/trees/in/topo3 3 out.mdl out
$D/tests/data/trees/expected/3.mdl | gmm-info $F | convert-ali $D/tests/data/trees/expected/old.mdl $F $D/tests/data/trees/expected/3.tree ark:$D/tests/data/trees/in/ali.txt ark:out
$D/crates/nnet3-decode/tests/data/decode/HCLG.fst | fstinfo $F | fstconvert $F out | latgen-faster-mapped --acoustic-scale=1 --lattice-beam=4 $D/crates/nnet3-decode/tests/data/mono.mdl $F ark:$D/crates/nnet3-decode/tests/data/decode/loglikes.ark ark:out
vector.fst                      | fstarcsort $F out | fstrmepslocal $F out | latgen-faster-mapped --acoustic-scale=1 --lattice-beam=4 $D/crates/nnet3-decode/tests/data/mono.mdl $F ark:$D/crates/nnet3-decode/tests/data/decode/loglikes.ark ark:out
vector.txt                      | fstcompile $F out
$D/crates/nnet3-decode/tests/data/mono.mdl | lattice-to-phone-lattice $F ark:$D/crates/nnet3-decode/tests/data/rich.lat ark:out | latgen-faster-mapped --acoustic-scale=1 --lattice-beam=4 $F $D/crates/nnet3-decode/tests/data/decode/HCLG.fst ark:$D/crates/nnet3-decode/tests/data/decode/loglikes.ark ark:out
$D/crates/nnet3-decode/tests/data/decode/loglikes.ark | latgen-faster-mapped --acoustic-scale=1 --lattice-beam=4 $D/crates/nnet3-decode/tests/data/mono.mdl $D/crates/nnet3-decode/tests/data/decode/HCLG.fst ark:$F ark:out
$D/crates/nnet3-decode/tests/data/rich.lat | lattice-copy ark:$F ark,t:out | lattice-best-path ark:$F ark,t:out | lattice-to-post ark:$F ark,t:out | lattice-mbr-decode ark:$F ark,t:out | lattice-to-nbest --n=3 ark:$F ark,t:out | lattice-prune --beam=2 ark:$F ark,t:out
plain.lat                       | lattice-copy ark:$F ark:out | lattice-determinize-pruned ark:$F ark:out
rich.txt                        | lattice-copy ark:$F ark:out
plain.txt                       | lattice-copy --write-compact=false ark:$F ark:out
$D/crates/nnet3-decode/tests/data/word_boundary.int | lattice-align-words $F $D/crates/nnet3-decode/tests/data/wb.mdl ark:$D/crates/nnet3-decode/tests/data/rich-wb.lat ark:out
$D/crates/nnet3-decode/tests/data/align_lexicon.int | lattice-align-words-lexicon $F $D/crates/nnet3-decode/tests/data/mono.mdl ark:$D/crates/nnet3-decode/tests/data/rich.lat ark:out
$D/crates/nnet3-decode/tests/data/digits.bi.carpa | lattice-lmrescore-const-arpa --lm-scale=1 ark:$D/crates/nnet3-decode/tests/data/rich.lat $F ark:out
$D/crates/nnet3-decode/tests/data/G.fst | lattice-lmrescore --lm-scale=-1 ark:$D/crates/nnet3-decode/tests/data/rich.lat $F ark:out
model.arpa                      | arpa2fst $F out | arpa2fst --read-symbol-table=words.txt $F out
words.txt                       | fstcompile --isymbols=$F --osymbols=$F grammar.txt out
$D/tests/data/ivectors/final.ie | ivector-extract-online2 --config=ivector.conf --ivector-extractor=$F ark:spk2utt ark:$D/tests/data/ivectors/feats.ark ark:out
$D/tests/data/ivectors/final.dubm | ivector-extract-online2 --config=ivector.conf --diag-ubm=$F ark:spk2utt ark:$D/tests/data/ivectors/feats.ark ark:out
$D/tests/data/ivectors/global_cmvn.stats | ivector-extract-online2 --config=ivector.conf --global-cmvn-stats=$F ark:spk2utt ark:$D/tests/data/ivectors/feats.ark ark:out
ivector.conf                    | ivector-extract-online2 --config=$F ark:spk2utt ark:$D/tests/data/ivectors/feats.ark ark:out
spk2utt                         | ivector-extract-online2 --config=ivector.conf ark:$F ark:$D/tests/data/ivectors/feats.ark ark:out
$D/tests/data/sound/u7.wav      | compute-mfcc-feats --dither=0 scp:wav.scp ark:out | compute-fbank-feats --dither=0 scp:wav.scp ark:out
mfcc.conf                       | compute-mfcc-feats --config=$F scp:u7.scp ark:out
segments                        | extract-segments scp:u7.scp $F ark:out
$D/crates/nnet3-chain/tests/data/chain/training/short2.cegs | nnet3-chain-copy-egs ark:$F ark:out | nnet3-chain-merge-egs --minibatch-size=2 ark:$F ark:out
chain.txt                       | nnet3-chain-copy-egs ark:$F ark:out
$D/crates/nnet3-chain/tests/data/chain/lang/den.bi.fst | fstinfo $F | fstprint $F out
$D/crates/nnet3-chain/tests/data/chain/lang/bi.tree | chain-make-den-fst $F $D/crates/nnet3-chain/tests/data/chain/lang/bi.trans_mdl $D/crates/nnet3-chain/tests/data/chain/lang/phone_lm.default.fst out out.norm
$D/crates/nnet3-chain/tests/data/chain/lang/bi.trans_mdl | chain-make-den-fst $D/crates/nnet3-chain/tests/data/chain/lang/bi.tree $F $D/crates/nnet3-chain/tests/data/chain/lang/phone_lm.default.fst out out.norm
$D/crates/nnet3-chain/tests/data/chain/lang/phone_lm.default.fst | chain-make-den-fst $D/crates/nnet3-chain/tests/data/chain/lang/bi.tree $D/crates/nnet3-chain/tests/data/chain/lang/bi.trans_mdl $F out out.norm
$D/crates/nnet3-chain/tests/data/chain/lang/phones.ark | chain-est-phone-lm ark:$F out
$D/crates/nnet3-train/tests/data/lstm.initial.raw | nnet3-copy $F out | nnet3-info $F
"""

def write_data(folder):
    """Writes the files of text from which the others are made."""
    feats, post, ali = [], [], []
    for u in range(6):
        rows = [f"  {((7 * u + t) % 13) / 13 - 0.4:.4f} {((5 * u + 3 * t) % 11) / 11 - 0.5:.4f}" for t in range(20)]
        feats.append(f"u{u:02}  [\n" + "\n".join(rows) + " ]\n")
        post.append(f"u{u:02}" + "".join(f" [ {t % 3} 1 ]" for t in range(20)) + "\n")
        ali.append(f"u{u:02} " + " ".join(str(1 + t % 3) for t in range(20)) + "\n")
    four = "a [\n" + "\n".join(" ".join(f"{((i * 7 + t) % 17) / 17:.3f}" for i in range(4)) for t in range(40)) + " ]\n"
    affine = "component name={0} type=NaturalGradientAffineComponent input-dim={1} output-dim={2}"
    layers = [
        "input-node name=input dim=2", affine.format("a", 6, 4), "component name=b type=BatchNormComponent dim=4",
        affine.format("c", 4, 3), "component name=d type=LogSoftmaxComponent dim=3",
        "component-node name=a component=a input=Append(Offset(input,-1),input,Offset(input,1))",
        "component-node name=b component=b input=a", "component-node name=c component=c input=b",
        "component-node name=d component=d input=c", "output-node name=output input=d objective=linear",
    ]
    decode = [
        "component name=a type=AffineComponent input-dim=12 output-dim=44", "component name=s type=LogSoftmaxComponent dim=44",
        "input-node name=input dim=4", "component-node name=a component=a input=Append(Offset(input, -1), input, Offset(input, 2))",
        "component-node name=s component=s input=a", "output-node name=output input=s",
    ]
    ivectors = ROOT / "tests/data/ivectors"
    options = {"lda-matrix": "final.mat", "global-cmvn-stats": "global_cmvn.stats", "cmvn-config": "online_cmvn.conf",
               "splice-config": "splice.conf", "diag-ubm": "final.dubm", "ivector-extractor": "final.ie"}
    config = "".join(f"--{name}={ivectors}/{file}\n" for name, file in options.items())
    arpa = ("\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-1 <s> -0.3\n-0.7 </s>\n-0.5 a -0.2\n-0.6 b\n\n\\2-grams:\n"
            "-0.2 <s> a\n-0.4 a b\n\n\\end\\\n")
    sound = ROOT / "tests/data/sound/u7.wav"
    for name, text in {
        "feats.txt": "".join(feats), "post.txt": "".join(post), "ali.txt": "".join(ali), "four.txt": four,
        "matrix.txt": " [ 1 2\n 3 4 ]\n", "net.config": "\n".join(layers) + "\n", "decode.config": "\n".join(decode) + "\n",
        "ivector.conf": config + "--ivector-period=4\n--posterior-scale=0.5\n--max-count=1\n--num-gselect=2\n--min-post=0.1\n",
        "spk2utt": "s u1 u2\n", "model.arpa": arpa, "words.txt": "<eps> 0\na 1\nb 2\nc 3\n",
        "grammar.txt": "0 1 a b 0.5\n1 2 c c\n2\n", "phones.txt": "".join(f"p{i} {i}\n" for i in range(40)),
        "mfcc.conf": "--dither=0\n--num-mel-bins=4\n--num-ceps=2\n", "u7.scp": f"u7 {sound}\n", "wav.scp": "u7 damaged\n",
        "segments": "a u7 0 0.62\nb u7 0.4 1.0\n",
    }.items():
        (folder / name).write_text(text)


Run = collections.namedtuple("Run", "status seconds megabytes output log")


def run(words, folder, limits):
    """Runs a program in a folder. The status is negative for a signal, None if it did not end."""
    out = folder / "out"
    out.unlink(missing_ok=True)

    # (Sizes are in KiB and, for files, in blocks of 1 KiB.)
    shell = f"ulimit -c 0 -f {200 << 10} -v {limits.address_space << 10}; exec \"$@\""
    began = time.monotonic()
    with open(folder / "stdout", "wb") as stdout, open(folder / "stderr", "wb") as stderr:
        process = subprocess.Popen(["bash", "-c", shell, "bash", *words], cwd=folder, stdin=subprocess.DEVNULL,
                                   stdout=stdout, stderr=stderr)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - began > limits.seconds:
                process.kill()
                _, _, usage = os.wait4(process.pid, 0)
                status = None
                break
            time.sleep(0.002)
    process.returncode = 0
    code = None if status is None else os.waitstatus_to_exitcode(status)
    output = (folder / "stdout").read_bytes() + (out.read_bytes() if out.exists() else b"")
    log = (folder / "stderr").read_bytes()[:100_000].decode(errors="replace")
    return Run(code, time.monotonic() - began, usage.ru_maxrss >> 10, output, log)


def damages(data, count, rng):
    """Pairs of a description and damaged bytes."""
    size = len(data)
    for cut in sorted({min(size - 1, size * (i + 1) // (count + 1)) for i in range(count)}):
        yield f"cut at {cut}", data[:cut]
    for _ in range(count):
        place, value = rng.randrange(size), rng.randrange(256)
        if value == data[place]:
            value ^= 0x40
        yield f"byte {place}: {data[place]:#x} is {value:#x}", data[:place] + bytes([value]) + data[place + 1:]


def check(what, found, whole, limits, ends):
    """The kind of failure of a run, or None. `ends` are cuts between the entries of a table, which nothing tells from its end."""
    if found.status is None:
        return "hang"
    if found.status not in (0, 1, 255) or "panicked at" in found.log:
        return "crash"
    if found.megabytes > whole.megabytes + limits.megabytes:
        return "memory"
    is_quiet = "WARNING (" not in found.log and "ERROR (" not in found.log
    if what.startswith("cut") and found.status == 0 and found.output != whole.output and is_quiet and what not in ends:
        return "silent"
    return None


def test(case, base, limits):
    """All damages of a file for each of its programs: counts, and the failures. The first program copies tables."""
    number, file, commands = case
    counts, failures, ends = collections.Counter(), [], set()
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"case{number}-", dir=base.parent))
    for entry in base.iterdir():
        (folder / entry.name).symlink_to(entry)
    damaged = folder / "damaged"
    path = pathlib.Path(file.replace("$D", str(ROOT)))
    data = (path if path.is_absolute() else base / path).read_bytes()
    for command in commands:
        words = [word.replace("$F", "damaged").replace("$D", str(ROOT)) for word in shlex.split(command)]
        damaged.write_bytes(data)
        whole = run(words, folder, limits)
        if whole.status != 0:
            failures.append((f"{file}: {command}", "whole file", "setup", whole))
            continue
        for what, content in damages(data, limits.count, random.Random(f"{limits.seed} {file} {command}")):
            damaged.write_bytes(content)
            found = run(words, folder, limits)
            if command == commands[0] and ":$F" in command and found.status == 0:
                is_part = found.output != whole.output and whole.output.startswith(found.output)
                is_end = is_part and (content.endswith(b"\n") or b"\0" in content)
                ends.update([what] if is_end and what.startswith("cut") else [])
            kind = check(what, found, whole, limits, ends)
            counts["inputs"] += 1
            if kind:
                counts[kind] += 1
                failures.append((f"{file}: {command}", what, kind, found))
            elif found.status != 0:
                counts["refused"] += 1
            elif found.output == whole.output:
                counts["same output"] += 1
            elif what in ends:
                counts["shorter tables"] += 1
            else:
                counts["other output"] += 1
    shutil.rmtree(folder)
    return counts, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=str(ROOT / "target/debug"), help="folder with the programs (target/debug)")
    parser.add_argument("--count", type=int, default=40, help="cuts and changed bytes for each file and program (40)")
    parser.add_argument("--only", default="", help="only commands or files that contain this")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="programs that run at the same time (2)")
    parser.add_argument("--seconds", type=float, default=30, help="longest time of a program (30)")
    parser.add_argument("--megabytes", type=int, default=500, help="memory beyond that of the whole file (500)")
    parser.add_argument("--address-space", type=int, default=6000, help="limit on the address space, in megabytes (6000)")
    limits = parser.parse_args()
    os.environ["PATH"] = f"{pathlib.Path(limits.bin).resolve()}:{os.environ['PATH']}"
    top = pathlib.Path(tempfile.mkdtemp(prefix="damaged-"))
    base = top / "base"
    base.mkdir()
    write_data(base)
    for line in filter(None, SETUP.strip().splitlines()):
        words = shlex.split(line.replace("$D", str(ROOT)))
        done = subprocess.run(words, cwd=base, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{line}: status {done.returncode}\n{done.stderr}", file=sys.stderr)
            return 2
    cases = []
    for line in filter(None, CASES.strip().splitlines()):
        file, *commands = (part.strip() for part in line.split(" | "))
        cases.append((len(cases), file, commands))
    cases = [case for case in cases if limits.only in case[1] + "".join(case[2])]
    counts, failures = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(limits.jobs) as pool:
        for one, failed in pool.map(lambda case: test(case, base, limits), cases):
            counts += one
            for command, what, kind, found in failed:
                failures.append(kind)
                last = next((line for line in reversed(found.log.splitlines()) if line.strip()), "")
                print(f"{kind}: {command}\n    {what}: status {found.status}, {found.seconds:.1f} s, {found.megabytes} MB\n"
                      f"    {last[:300]}", flush=True)
    shutil.rmtree(top)
    print(f"{sum(len(case[2]) for case in cases)} pairs of a file and a program: "
          + ", ".join(f"{number} {name}" for name, number in sorted(counts.items())))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
