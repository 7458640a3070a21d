#!/usr/bin/env bash
# cn2an writes the numbers of a Chinese sentence in characters, for synthesis, and back. Groups of digits are numbers of their own there: 1,000 is
# "one, zero". A date with hyphens has negative months. Four digits before 年 are a year, so that "1000 years" is "one zero zero zero". Codes
# lose their first zeros. Back, each 一 of a word becomes a digit: 一起 (together) is 1起, and 统一 (unify) is 统1. There is no message.
# Seen with cn2an 0.5.24 on Python 3.11:
#   1,000元 (yuan)        一,零元 (one, zero)
#   2024-05-01            二千零二十四负五负一 (2024 minus 5 minus 1)
#   3000年前 (years ago)   三零零零年前 (three zero zero zero)
#   区号010 (area code)    区号十 (ten)
#   我们一起走              我们1起走
# Consequence: amounts are wrong in speech, and texts of references change. Remove separators, and replace numbers that you have found yourself.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check cn2an==0.5.24 setuptools==80.9.0
venv/bin/python -W ignore - <<'PYTHON' | tee seen
import cn2an

for text in ("1000元", "1,000元", "12,345,678人", "2024年5月1日", "2024-05-01", "1000年历史", "3000年前", "区号010", "1-2岁", "1~2岁", "10:30"):
    print(text, cn2an.transform(text, "an2cn"))
for text in ("一百零五", "我们一起走", "统一价格", "三心二意", "百分之五十", "零下五度"):
    print(text, cn2an.transform(text, "cn2an"))
PYTHON
diff seen - <<'EXPECTED'
1000元 一千元
1,000元 一,零元
12,345,678人 十二,三百四十五,六百七十八人
2024年5月1日 二零二四年五月一日
2024-05-01 二千零二十四负五负一
1000年历史 一零零零年历史
3000年前 三零零零年前
区号010 区号十
1-2岁 一负二岁
1~2岁 一~二岁
10:30 十:三十
一百零五 105
我们一起走 我们1起走
统一价格 统1价格
三心二意 3心2意
百分之五十 50%
零下五度 0下5度
EXPECTED
echo "as stated"
