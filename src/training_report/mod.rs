//! What the logs of a training tell, as one page: `nnet3-report`.
//!
//! `logs` reads the folder that `scripts/train.sh` or Kaldi's drivers fill (`log/train.I.J.log`,
//! `log/compute_prob_{train,valid}.I.log`, `log/progress.I.log`), `epochs` what `nnet3-fit` says besides, `chart` draws, `page` puts the page together.

pub mod chart;
mod epochs;
pub mod logs;
pub mod page;
mod style;

/// Text that may stand in HTML and in attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Neither HTML nor XML has a way to write the other control characters.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(super::escape("<a href=\"x\">'&\u{1}"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;\u{fffd}");
        assert_eq!(super::escape("plain µ\n"), "plain µ\n");
    }
}
