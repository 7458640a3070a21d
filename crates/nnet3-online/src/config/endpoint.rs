//! Rules for the end of speech.

use std::collections::BTreeSet;

use kaldi_io::text::split_integers;
use kaldi_online::endpoint::{EndpointOptions, EndpointRule};

use super::{Error, Result};

macro_rules! endpoint_args {
    ($($nonsilence:ident $silence:ident $cost:ident $length:ident $name:literal $defaults:expr;)*) => {
        kaldi_io::options! {
            /// Detection of the end of speech.
            #[derive(Clone, Debug)]
            pub struct EndpointArgs {
                /// List of phones that are considered to be silence phones by the endpointing code.
                pub endpoint_silence_phones("endpoint.silence-phones"): String = "",
                $(
                    /// If true, for this endpointing rule to apply there must be nonsilence in the best-path traceback.
                    pub $nonsilence(concat!("endpoint.", $name, ".must-contain-nonsilence")): bool = $defaults.must_contain_nonsilence,
                    /// This endpointing rule requires duration of trailing silence (in seconds) to be >= this value.
                    pub $silence(concat!("endpoint.", $name, ".min-trailing-silence")): f32 = $defaults.min_trailing_silence,
                    /// This endpointing rule requires relative-cost of final-states to be <= this value (describes how good the
                    /// probability of final-states is).
                    pub $cost(concat!("endpoint.", $name, ".max-relative-cost")): f32 = $defaults.max_relative_cost,
                    /// This endpointing rule requires utterance-length (in seconds) to be >= this value.
                    pub $length(concat!("endpoint.", $name, ".min-utterance-length")): f32 = $defaults.min_utterance_length,
                )*
            }
        }

        impl EndpointArgs {
            fn rules(&self) -> [EndpointRule; 5] {
                [$(EndpointRule {
                    must_contain_nonsilence: self.$nonsilence,
                    min_trailing_silence: self.$silence,
                    max_relative_cost: self.$cost,
                    min_utterance_length: self.$length,
                },)*]
            }
        }
    };
}

endpoint_args! {
    nonsilence1 silence1 cost1 length1 "rule1" EndpointOptions::RULES[0];
    nonsilence2 silence2 cost2 length2 "rule2" EndpointOptions::RULES[1];
    nonsilence3 silence3 cost3 length3 "rule3" EndpointOptions::RULES[2];
    nonsilence4 silence4 cost4 length4 "rule4" EndpointOptions::RULES[3];
    nonsilence5 silence5 cost5 length5 "rule5" EndpointOptions::RULES[4];
}

impl EndpointArgs {
    /// The rules, for a program that looks for endpoints: there must be phones of silence.
    ///
    /// # Errors
    /// There are no phones of silence, or a phone is no number.
    pub fn options(&self) -> Result<EndpointOptions> {
        let silence_phones =
            phones(&self.endpoint_silence_phones, &[':']).map_err(Error::of("--endpoint.silence-phones"))?;
        if silence_phones.is_empty() {
            refuse!("Endpointing requires nonempty --endpoint.silence-phones option");
        }
        Ok(EndpointOptions { silence_phones, rules: self.rules() })
    }
}

/// A list of phones.
pub(super) fn phones(text: &str, separators: &[char]) -> Result<BTreeSet<i32>> {
    let Some(phones) = split_integers(text, separators, false) else {
        refuse!("'{text}': expected a colon-separated list of phones, as in 1:2:3");
    };
    Ok(phones.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::super::given;
    use super::*;

    fn parse(options: &[&str]) -> EndpointArgs {
        given("test", options).unwrap()
    }

    fn refused<T>(result: Result<T>, words: &str) {
        let error = kaldi_io::error::chain(&result.err().unwrap());
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn endpoints() {
        let usual = parse(&["--endpoint.silence-phones=1:2"]).options().unwrap();
        assert_eq!(
            usual,
            EndpointOptions { silence_phones: BTreeSet::from([1, 2]), rules: EndpointOptions::RULES }
        );
        let changed = parse(&[
            "--endpoint.silence-phones=7",
            "--endpoint.rule1.must-contain-nonsilence=true",
            "--endpoint.rule2.min-trailing-silence=0.75",
            "--endpoint.rule3.max-relative-cost=inf",
            "--endpoint.rule5.min-utterance-length=2",
        ]);
        let mut rules = EndpointOptions::RULES;
        rules[0].must_contain_nonsilence = true;
        rules[1].min_trailing_silence = 0.75;
        rules[2].max_relative_cost = f32::INFINITY;
        rules[4].min_utterance_length = 2.0;
        assert_eq!(changed.options().unwrap().rules, rules);
        refused(parse(&[]).options(), "nonempty --endpoint.silence-phones");
        refused(parse(&["--endpoint.silence-phones=1,2"]).options(), "'1,2': expected a colon");
    }
}
