#!/usr/bin/env python3
"""Lists the programs that recipes of Kaldi call: programs.py KALDI [RECIPE ...]

KALDI is a checkout of Kaldi (scripts and sources; nothing has to be built). Starts at the scripts of each recipe in
STARTS, follows every script of the checkout that they name, and writes the names of Kaldi's and OpenFst's programs that
occur outside comments to programs/RECIPE.txt. A test compares these lists with `nnet3 --list`.
"""
import glob
import os
import re
import sys

# Recipe: its folder, and the scripts that a user starts there.
STARTS = {
    "mini_librispeech": ("egs/mini_librispeech/s5", [
        "run.sh", "local/chain/run_tdnn.sh", "local/chain/run_cnn_tdnn.sh", "local/chain/run_tdnn_discriminative.sh",
        "local/chain/tuning/run_tdnn_1c_discriminative.sh", "local/grammar/simple_demo.sh", "local/grammar/extend_vocab_demo.sh",
        "local/lookahead/run_lookahead.sh", "local/kws/run_kws.sh", "local/kws/search.sh"]),
    "yesno": ("egs/yesno/s5", ["run.sh"]),
    "aishell": ("egs/aishell/s5", ["run.sh", "local/chain/run_tdnn.sh"]),
    "rnnlm": ("egs/wsj/s5", [
        "local/rnnlm/run_rnnlm.sh", "rnnlm/train_rnnlm.sh", "rnnlm/lmrescore.sh", "rnnlm/lmrescore_pruned.sh",
        "rnnlm/lmrescore_nbest.sh"]),
    "voxceleb": ("egs/voxceleb/v2", ["run.sh"]),
    "callhome": ("egs/callhome_diarization/v2", ["run.sh"]),
    "cifar": ("egs/cifar/v1", ["run.sh", "local/nnet3/run_resnet.sh"]),
    # The folder training/ of vosk-api, put into the checkout as egs/vosk/training.
    "vosk": ("egs/vosk/training", ["run.sh"]),
}

# Programs of OpenFst that scripts of Kaldi call.
OPENFST = """fstarcsort fstclosure fstcompile fstcompose fstconcat fstconnect fstconvert fstcopy fstdeterminize fstdifference
fstdraw fstencode fstepsnormalize fstequal fstequivalent fstinfo fstintersect fstinvert fstisomorphic fstmap fstminimize
fstprint fstproject fstprune fstpush fstrandgen fstrelabel fstreplace fstreverse fstreweight fstrmepsilon
fstshortestdistance fstshortestpath fstsymbols fstsynchronize fsttopsort fstunion farcompilestrings ngramcount""".split()


def kaldi_programs(kaldi):
    """Names of all programs in the folders src/*bin of a checkout."""
    names = set(OPENFST)
    source = os.path.join(kaldi, "src")
    for folder in os.listdir(source):
        if folder.endswith("bin"):
            names.update(f[:-3] for f in os.listdir(os.path.join(source, folder)) if f.endswith(".cc"))
    return names


def code(path):
    """The text of a script without its comments and without the lines of its usage message."""
    with open(path, encoding="utf-8", errors="replace") as f:
        lines = f.read().split("\n")
    return "\n".join(re.sub(r"(^|\s)#.*", "", line) for line in lines if not re.match(r"\s*echo\s", line))


def followed(root, starts):
    """Texts of the start scripts and of all scripts that they name, directly or through others."""
    waiting, seen = [os.path.join(root, start) for start in starts], {}
    while waiting:
        path = os.path.realpath(waiting.pop())
        if path in seen or not os.path.isfile(path):
            continue
        seen[path] = code(path)
        folders = [root, os.path.dirname(path), os.path.join(root, "utils"), os.path.join(root, "steps")]
        for name in re.findall(r"[A-Za-z0-9_./+-]+\.(?:sh|pl|py)\b", seen[path]):
            # Paths behind variables, as in $dir/../x.sh, keep only what stands behind the variable.
            for folder in folders:
                waiting.append(os.path.join(folder, name.lstrip("/")))
        for name in re.findall(r"(?:utils|steps|local|rnnlm|sid|diarization|image|conf)/[A-Za-z0-9_./+-]+", seen[path]):
            waiting.append(os.path.join(root, name))
        for module in re.findall(r"(?:import|from)\s+(libs\.[a-z0-9_.]+)", seen[path]):
            # A package is all its modules.
            path = os.path.join(root, "steps", module.replace(".", "/"))
            waiting += [path + ".py", *glob.glob(path + "/*.py")]
    return seen


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    kaldi, recipes = sys.argv[1], sys.argv[2:] or list(STARTS)
    programs = kaldi_programs(kaldi)
    out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
    os.makedirs(out, exist_ok=True)
    for recipe in recipes:
        folder, starts = STARTS[recipe]
        missing = [start for start in starts if not os.path.isfile(os.path.join(kaldi, folder, start))]
        if missing:
            sys.exit(f"programs.py: {kaldi}/{folder} has no {', '.join(missing)}")
        texts = followed(os.path.join(kaldi, folder), starts)
        words = {word for text in texts.values() for word in re.findall(r"[A-Za-z0-9][A-Za-z0-9_-]*", text)}
        # A script with several threads adds "-parallel" to the name of its decoder.
        for text in texts.values():
            words.update(name + "-parallel" for name in re.findall(r"([a-z0-9-]+)\$\{?thread_string\b", text))
        found = sorted(words & programs)
        with open(os.path.join(out, recipe + ".txt"), "w", encoding="utf-8") as f:
            f.write("".join(name + "\n" for name in found))
        print(f"{recipe}: {len(found)} programs in {len(texts)} scripts")


if __name__ == "__main__":
    main()
