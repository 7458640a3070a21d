#!/usr/bin/env python3
"""Speaks Mandarin sentences in the layout of the corpus AISHELL, with its transcripts and lexicon.

OUT/data_aishell/wav/{train,dev,test}/READER has waves, OUT/data_aishell/transcript the words, OUT/resource_aishell the lexicon: initials and
finals with tones. Sentences are drawn from patterns of some ninety words. All that is drawn at random depends on the seed and the sentence's
number only, however many processes speak.
"""

import argparse
import multiprocessing
import re
import sys
from pathlib import Path

import numpy as np
import readers

sys.path.append(str(Path(__file__).resolve().parents[2] / "digits/local"))

import espeak
import sound

CHUNK = 50  # sentences that one process speaks: espeak-ng carries state over, so a chunk starts with a fresh library
VOICES = tuple(("sit/cmn", variant) for variant in readers.MALE + readers.FEMALE) * 2  # a voice twice: with another speed and pitch

# Words by their place in a sentence, each with its syllables in pinyin, digits for tones.
WORDS = {
    "who": "我:wo3 你:ni3 他:ta1 我们:wo3 men5 他们:ta1 men5 老师:lao3 shi1 学生:xue2 sheng1 朋友:peng2 you3 妈妈:ma1 ma5 爸爸:ba4 ba5 "
    "医生:yi1 sheng1 孩子:hai2 zi5 同学:tong2 xue2",
    "when": "今天:jin1 tian1 明天:ming2 tian1 昨天:zuo2 tian1 早上:zao3 shang5 晚上:wan3 shang5 下午:xia4 wu3 现在:xian4 zai4 "
    "星期一:xing1 qi1 yi1 星期二:xing1 qi1 er4 星期五:xing1 qi1 wu3 周末:zhou1 mo4",
    "where": "北京:bei3 jing1 上海:shang4 hai3 学校:xue2 xiao4 公园:gong1 yuan2 商店:shang1 dian4 医院:yi1 yuan4 图书馆:tu2 shu1 guan3 "
    "火车站:huo3 che1 zhan4 机场:ji1 chang3 饭馆:fan4 guan3 银行:yin2 hang2 家里:jia1 li3",
    "go": "去:qu4 到:dao4 离开:li2 kai1 回:hui2",
    "do": "看:kan4 买:mai3 找:zhao3 喜欢:xi3 huan5 带:dai4 要:yao4 卖:mai4 有:you3",
    "what": "书:shu1 电影:dian4 ying3 茶:cha2 水:shui3 米饭:mi3 fan4 苹果:ping2 guo3 音乐:yin1 yue4 报纸:bao4 zhi3 自行车:zi4 xing2 che1 "
    "手机:shou3 ji1 衣服:yi1 fu5 蛋糕:dan4 gao1 咖啡:ka1 fei1 照片:zhao4 pian4 鞋子:xie2 zi5 杯子:bei1 zi5",
    "number": "一:yi1 两:liang3 三:san1 四:si4 五:wu3 六:liu4 七:qi1 八:ba1 九:jiu3 十:shi2",
    "unit": "个:ge4 本:ben3 张:zhang1 杯:bei1 件:jian4",
    "how": "很:hen3 不太:bu2 tai4 非常:fei1 chang2 真:zhen1",
    "like": "好:hao3 大:da4 小:xiao3 便宜:pian2 yi5 漂亮:piao4 liang5 热:re4 冷:leng3 快:kuai4 新:xin1",
}
PATTERNS = (
    "when who go where", "who when go where do what", "who do number unit what", "when who do what", "who do what how like",
    "where how like", "who where do number unit what", "what how like", "when where how like",
)  # fmt: skip
INITIALS = re.compile("zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw]|")


def entries():
    """{place: [(word, phones)]}"""
    found = {}
    for place, text in WORDS.items():
        for entry in re.findall(r"(\S+):((?:[a-z]+[1-5] ?)+)", text):
            phones = []
            for syllable in entry[1].split():
                initial = INITIALS.match(syllable).group()
                phones += [initial, syllable[len(initial) :]] if initial else [syllable]
            found.setdefault(place, []).append((entry[0], phones))
    return found


def sentence(rng, words):
    places = PATTERNS[rng.integers(len(PATTERNS))].split()
    return [words[place][rng.integers(len(words[place]))][0] for place in places]


def speak(job):
    """Speaks a chunk: [(number, reader, words, wave)]. Files that are there already are kept."""
    chunk, seed = job
    synthesiser = espeak.Espeak()
    for number, reader, words, path in chunk:
        if not path.exists():
            part = path.with_suffix(".part")
            sound.write_wav(part, reader.read(synthesiser, " ".join(words), np.random.default_rng([seed, number])))
            part.rename(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path, help="folder to write")
    parser.add_argument("--num-train", type=int, default=1500, help="sentences of the training set (1500)")
    parser.add_argument("--num-test", type=int, default=150, help="sentences of each of the sets dev and test (150)")
    parser.add_argument("--train-readers", type=int, default=20, help="readers of the training set (20)")
    parser.add_argument("--test-readers", type=int, default=10, help="readers of each of the sets dev and test (10)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other data (1)")
    parser.add_argument("--nj", type=int, default=2, help="parallel processes (2)")
    args = parser.parse_args()

    words = entries()
    people = readers.readers(args.train_readers + 2 * args.test_readers, args.seed, VOICES)
    first_test, first_dev = args.train_readers, args.train_readers + args.test_readers
    sets = (
        ("train", args.num_train, people[:first_test]),
        ("test", args.num_test, people[first_test:first_dev]),
        ("dev", args.num_test, people[first_dev:]),
    )
    jobs, transcripts, number = [], [], 0
    for name, count, members in sets:
        for k in range(count):
            reader = members[k % len(members)]
            folder = args.out / "data_aishell/wav" / name / f"S{reader.number:04d}"
            folder.mkdir(parents=True, exist_ok=True)
            said = sentence(np.random.default_rng([args.seed, 1, number]), words)
            key = f"BAC009S{reader.number:04d}W{k:04d}"
            transcripts.append(f"{key} {' '.join(said)}\n")
            jobs.append((number, reader, said, folder / f"{key}.wav"))
            number += 1
    for folder, name, lines in (
        ("data_aishell/transcript", "aishell_transcript_v0.8.txt", sorted(transcripts)),
        (
            "resource_aishell",
            "lexicon.txt",
            ["SIL sil\n", "<SPOKEN_NOISE> sil\n", *sorted({f"{word} {' '.join(phones)}\n" for group in words.values() for word, phones in group})],
        ),
    ):
        (args.out / folder).mkdir(parents=True, exist_ok=True)
        (args.out / folder / name).write_text("".join(lines), encoding="utf-8")
    chunks = [(jobs[first : first + CHUNK], args.seed) for first in range(0, len(jobs), CHUNK)]
    # `spawn`: the children start without this process's copy of espeak-ng.
    with multiprocessing.get_context("spawn").Pool(args.nj, maxtasksperchild=1) as pool:
        for _ in pool.imap(speak, chunks):
            pass
    print(f"{number} sentences of {len(people)} readers")


if __name__ == "__main__":
    main()
