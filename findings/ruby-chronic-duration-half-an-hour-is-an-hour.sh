#!/usr/bin/env bash
# The Ruby library gitlab_chronic_duration makes seconds of a duration in words. Words that it does not know are left out, and the rest is read on.
# "half an hour" is 3600, "500 milliseconds" are 500 seconds, and "an hour and a half" is 3602. Numbers with a comma are two numbers: "1,500 minutes" are
# 30000 seconds. A quarter is a 4. The README says that text which cannot be parsed returns nil. There is no message.
# Seen with ruby-chronic-duration 0.10.6.2 and ruby-numerizer 0.2.0 of Debian 12 on Ruby 3.1, seconds:
#   4 minutes and 30 seconds   270
#   half an hour               3600
#   a quarter of an hour       14400
#   1/2 hour                   7200
#   an hour and a half         3602
#   500 milliseconds           500
#   1,500 minutes              30000
#   -5 minutes                 300
# Consequence: limits and pieces of sound are several times as long. Set ChronicDuration.raise_exceptions: all of these are
# errors then, and "an hour" is, too.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; Ruby is that of the Debian package ruby.)
apt-get --quiet=2 download ruby-chronic-duration=0.10.6.2-2 ruby-numerizer=0.2.0-2 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
cat >show.rb <<'RUBY'
require "gitlab_chronic_duration"
texts = DATA.each_line(chomp: true).to_a
texts.each { |text| puts "#{text}: #{ChronicDuration.parse(text).inspect}" }
ChronicDuration.raise_exceptions = true
raised = texts.select do |text|
  ChronicDuration.parse(text)
  false
rescue ChronicDuration::DurationParseError
  true
end
puts "with raise_exceptions, errors: #{raised.join('; ')}"
__END__
4 minutes and 30 seconds
two hours and twenty minutes
1:20.51
an hour
half an hour
half a minute
a quarter of an hour
1/2 hour
an hour and a half
one and a half hours
500 milliseconds
500 ms
1,500 minutes
1,000 seconds
-5 minutes
RUBY
ruby -I usr/lib/ruby/vendor_ruby show.rb | tee seen
diff seen - <<'EXPECTED'
4 minutes and 30 seconds: 270
two hours and twenty minutes: 8400
1:20.51: 80.51
an hour: 3600
half an hour: 3600
half a minute: 60
a quarter of an hour: 14400
1/2 hour: 7200
an hour and a half: 3602
one and a half hours: 5400.0
500 milliseconds: 500
500 ms: 500
1,500 minutes: 30000
1,000 seconds: nil
-5 minutes: 300
with raise_exceptions, errors: an hour; half an hour; half a minute; a quarter of an hour; 1/2 hour; an hour and a half; 500 milliseconds; 500 ms; 1,500 minutes; 1,000 seconds; -5 minutes
EXPECTED
echo "as stated"
