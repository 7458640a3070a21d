#!/usr/bin/env python3
"""Usage: check_decoding.py <work>: what decode.sh has left there, in a line, and whether it is what was spoken."""

import sys
from pathlib import Path

MOST_ERRORS = 0.5  # word error rate in percent
LEAST_FRAMES = 0.96  # of the alignment that have the phone that was spoken there
NEAR = 0.05  # seconds between a word's beginning in a CTM file and that in the alignment
LEAST_NEAR = 0.97  # of the words that begin so near
FRAME = 0.01


def table(path):
    """{key: list of the other fields}"""
    return {key: fields for key, *fields in map(str.split, path.read_text().splitlines())}


def ctm(path):
    """{utterance: [(begin in seconds, word)]}"""
    words = {}
    for key, _, begin, _, word, *_ in map(str.split, path.read_text().splitlines()):
        words.setdefault(key, []).append((float(begin), word))
    return words


def phone_runs(frames):
    """[(first frame, phone)] of an alignment whose words begin with a phone _B or are one phone _S."""
    return [(t, phone) for t, phone in enumerate(frames) if t == 0 or phone != frames[t - 1]]


def main():
    work = Path(sys.argv[1])
    complaints = []

    def expect(is_so, what):
        if not is_so:
            complaints.append(f"check_decoding.py: {work}: {what}")

    text = table(work / "test/text")
    best = (work / "decode/scoring_kaldi/best_wer").read_text().split()
    expect(float(best[1]) <= MOST_ERRORS, f"a word error rate of at most {MOST_ERRORS} % was expected")
    lines = (work / "decode/scoring_kaldi/wer_details/per_utt").read_text().splitlines()
    expect(len(lines) == 4 * len(text), f"{4 * len(text)} lines in wer_details/per_utt were expected, found {len(lines)}")

    # Alignments: the words' phones, where they were spoken.
    names = {number: name for name, (number,) in table(work / "lang/phones.txt").items()}
    lexicon = {}
    for line in (work / "dict/lexicon.txt").read_text().splitlines():
        word, *phones = line.split()
        lexicon.setdefault(" ".join(phones), word)
    spoken = table(work / "ali/spoken.txt")
    phones = {key: [names[phone] for phone in frames] for key, frames in table(work / "ali/phones.txt").items()}
    # In the order of phones.txt, as the recipe numbers them.
    order = list(dict.fromkeys(name.split("_")[0] for name in names.values() if name[0] not in "<#"))
    right = total = 0
    begins = {}
    for key, frames in phones.items():
        expect(len(frames) == len(spoken[key]), f"{key}: {len(frames)} frames are aligned, {len(spoken[key])} were spoken")
        right += sum(phone.split("_")[0] == order[int(said)] for phone, said in zip(frames, spoken[key]))
        total += len(frames)
        words, begins[key] = [], []
        for t, phone in phone_runs(frames):
            if phone.endswith(("_B", "_S")):
                words.append([])
                begins[key].append(t * FRAME)
            if phone != "sil":
                words[-1].append(phone.split("_")[0])
        found = [lexicon.get(" ".join(word), "?") for word in words]
        expect(found == text[key], f"{key}: the phones are those of '{' '.join(found)}', not of '{' '.join(text[key])}'")
    expect(set(phones) == set(text), f"{len(text)} alignments were expected, found {len(phones)}")
    expect(right >= LEAST_FRAMES * total, f"at least {LEAST_FRAMES} of the aligned frames should be right")

    # Times of words, by three scripts.
    least_near = 1.0
    for path in "decode/score_10/test.ctm", "ctm/ctm", "decode/score_11/test.ctm":
        times, near = ctm(work / path), []
        for key, words in text.items():
            found = times.get(key, [])
            expect([word for _, word in found] == words, f"{path}: {key} has not the words that were spoken")
            near += [abs(begin - expected) <= NEAR for (begin, _), expected in zip(found, begins.get(key, []))]
        share = sum(near) / max(1, len(near))
        expect(share >= LEAST_NEAR, f"{path}: {LEAST_NEAR} of the words should begin within {NEAR} s of the alignment, found {share:.3f}")
        least_near = min(least_near, share)

    print(
        f"WER {best[1]} %;   alignments of {len(phones)} utterances, {100 * right / total:.2f} % of frames as spoken;   "
        f"{100 * least_near:.1f} % of words begin within {NEAR} s of it"
    )
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
