#!/usr/bin/env bash
# The Perl module Lingua::Translit writes words in Latin letters and back. Its tables ISO/R 9, ISO 9 and DIN 1460 call themselves reversible, and
# return other words. Its Greeklish "(Phonetic)" reads ευ as "ef" and αυ as "ai", and a capital Ευ as "Ei"; its γγ and γκ have no "ng". There is no
# message.
# Seen with liblingua-translit-perl 0.29 of Debian 12:
#   ISO/R 9         я              ja           йа
#   ISO/R 9         мышь           myšʹ         мъшь
#   ISO 9           љубав          l̂ubav        л̂убав (л and U+0302, not љ)
#   DIN 1460 RUS    Нью-Йорк       N'ju-Jork    НЬю-Йорк
#   DIN 1460 UKR    м'ята          m'jata       мьята
#   Greeklish       ευρώ, Ευρώπη   efro, Eiropi
#   Greeklish       αυτός, άγγελος  aitos, ayyelos (said: aftós, ángelos)
# Consequence: dictionaries that were stored in Latin letters come back with words that do not exist. Compare each word with its way back.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before.)
apt-get --quiet=2 download liblingua-translit-perl=0.29-2 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
cat >show.pl <<'PERL'
use strict;
use warnings;
use utf8;
use open qw(:std :utf8);
use Lingua::Translit;

sub show {
    my ($name, @words) = @_;
    my $table = Lingua::Translit->new($name);
    print "# $name, ", ($table->can_reverse ? "reversible" : "one way"), "\n";
    for my $word (@words) {
        my $latin = $table->translit($word);
        my $back = $table->can_reverse ? $table->translit_reverse($latin) : "";
        print "$word -> $latin", ($back ? " -> $back" : ""), ($back && $back ne $word ? ", other" : ""), "\n";
    }
}

my @russian = qw(я юля мышь щука ещё цы Нью-Йорк Мьянма объезд);
show("ISO/R 9", @russian);
show("DIN 1460 RUS", @russian);
show("GOST 7.79 RUS", @russian);
show("DIN 1460 UKR", qw(щастя м'ята Київ));
show("ISO 9", qw(щука ґанок љубав џеп));
show("Greeklish", qw(εύκολα ευρώ Ευρώπη Ευαγγελία αυτός αυγό άγγελος αγκαλιά));
PERL
PERL5LIB=$work/usr/share/perl5 perl show.pl 2>&1 | tee seen
diff seen - <<'EXPECTED'
# ISO/R 9, reversible
я -> ja -> йа, other
юля -> julja -> йулйа, other
мышь -> myšʹ -> мъшь, other
щука -> ščuka -> шчука, other
ещё -> eščë -> ешчё, other
цы -> cy -> цъ, other
Нью-Йорк -> Nʹju-Jork -> НЬйу-Йорк, other
Мьянма -> Mʹjanma -> МЬйанма, other
объезд -> obyezd -> объезд
# DIN 1460 RUS, reversible
я -> ja -> я
юля -> julja -> юля
мышь -> myš' -> мышь
щука -> ščuka -> щука
ещё -> eščë -> ещё
цы -> cy -> цы
Нью-Йорк -> N'ju-Jork -> НЬю-Йорк, other
Мьянма -> M'janma -> МЬянма, other
объезд -> ob"ezd -> объезд
# GOST 7.79 RUS, reversible
я -> ya -> я
юля -> yulya -> юля
мышь -> my'sh` -> мышь
щука -> shhuka -> щука
ещё -> eshhyo -> ещё
цы -> cy' -> цы
Нью-Йорк -> N`yu-Jork -> НЬю-Йорк, other
Мьянма -> M`yanma -> МЬянма, other
объезд -> ob``ezd -> объезд
# DIN 1460 UKR, reversible
щастя -> ščastja -> щастя
м'ята -> m'jata -> мьята, other
Київ -> Kyïv -> Київ
# ISO 9, reversible
щука -> ŝuka -> щука
ґанок -> g̀anok -> г̀анок, other
љубав -> l̂ubav -> л̂убав, other
џеп -> d̂ep -> д̂еп, other
# Greeklish, one way
εύκολα -> efkola
ευρώ -> efro
Ευρώπη -> Eiropi
Ευαγγελία -> Eiayyelia
αυτός -> aitos
αυγό -> aiyo
άγγελος -> ayyelos
αγκαλιά -> aykalia
EXPECTED
echo "as stated"
