# Trees of phones in context.

# Sets width and position: the phones that the tree asks for, and the number of phones before the one in question.
context_of_tree() { # <tree>
  local said
  said=$(tree-info --print-args=false "$1" 2>/dev/null) || fail "cannot read the tree $1"
  read -r width position < <(awk '$1 == "context-width" { n = $2 } $1 == "central-position" { p = $2 } END { print n, p }' <<<"$said")
  number width whole "context width of $1" "$width" 1 1000
  number position whole "central position of $1" "$position" 0 1000
}

# (Triphones and a lexicon of 142 words: the first half of a graph was not at its end after 150 s of processor time. With the phone before
# alone it takes a second.)
asks_for_following_phones() { # <tree>
  local width position
  context_of_tree "$1"
  (( position < width - 1 )) # lint: whole: position width
}
