//! The functions of vosk's header. All `unsafe` code of the crate is here and in the modules below.
//!
//! Callers keep these rules, which are vosk's. The SAFETY comments name them:
//!
//! 1. A handle is null, or a constructor of this file returned it for this type and it was not freed.
//! 2. No two calls use a recogniser, batch recogniser or text processor at the same time. Models may be used by several
//!    threads at a time, and may be freed before their recognisers.
//! 3. A text is null, or ends with a zero and does not change during the call.
//! 4. Samples are null, or `length` readable elements (bytes for `vosk_recognizer_accept_waveform`).
//!
//! Functions return the error value of vosk (null, -1) for null handles, texts that are not UTF-8 and errors, and log a
//! sentence. A panic is caught and does the same; it needs a build that unwinds (profile `library`).

#![allow(unsafe_code)]

mod batch;
mod text;

use std::ffi::{CStr, c_char, c_float, c_int, c_short};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use nnet3_online::speakers::SpeakerModel;
use nnet3_online::{Error, Model, ModelOptions, SampleBytes};

use crate::grammar;
use crate::log;
use crate::session::Session;

/// Stack that the work of a function may need, and that it gets if the calling thread has less left, in bytes.
const STACK: usize = 1 << 20;

/// Runs the body of a function, with enough stack. Returns `failed` if it panics, or if there is no memory for a stack.
fn guarded<T>(function: &str, failed: T, body: impl FnOnce() -> T) -> T {
    // (The stack of the first thread cannot grow where the address space is used up, as by `ulimit -v`.)
    let is_limited = rustix::process::getrlimit(rustix::process::Resource::As).current.is_some();
    let body = || match is_limited {
        true => stacker::grow(2 * STACK, body),
        false => stacker::maybe_grow(STACK, 2 * STACK, body),
    };
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        log::failure(function, "an internal error of this library: the call was aborted");
        failed
    })
}

/// Logs an error.
fn logged<T, E: std::error::Error + 'static>(function: &str, result: Result<T, E>) -> Option<T> {
    result.map_err(|error| log::error(function, &error)).ok()
}

/// Logs a null handle.
fn present<T>(function: &str, handle: Option<T>) -> Option<T> {
    if handle.is_none() {
        log::failure(function, "expected a handle, found a null pointer");
    }
    handle
}

fn handle<T>(object: Option<T>) -> *mut T {
    object.map_or(null_mut(), |object| Box::into_raw(Box::new(object)))
}

/// # Safety
/// Rule 1, and for types other than models rule 2.
unsafe fn release<T>(function: &str, handle: *mut T) {
    guarded(function, (), || {
        if !handle.is_null() {
            // SAFETY: rule 1: `handle` made the pointer of a box, which is freed once.
            drop(unsafe { Box::from_raw(handle) });
        }
    });
}

/// Reads a text. Logs the error if there is none, or if it is not UTF-8.
///
/// # Safety
/// Rule 3.
unsafe fn read<'t>(function: &str, text: *const c_char) -> Option<&'t str> {
    if text.is_null() {
        log::failure(function, "expected a text, found a null pointer");
        return None;
    }
    // SAFETY: rule 3.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map_err(|_| log::failure(function, "expected a text in UTF-8")).ok()
}

/// Returns samples as the bytes of `length` elements of a type. `None` for a negative length, or a null pointer to some.
///
/// # Safety
/// Rule 4.
unsafe fn bytes<'s, T>(function: &str, data: *const T, length: c_int) -> Option<&'s [u8]> {
    match usize::try_from(length) {
        Ok(0) => Some(&[]),
        Ok(length) if !data.is_null() => {
            // SAFETY: rule 4. Bytes need no alignment.
            Some(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length * size_of::<T>()) })
        }
        _ => {
            log::failure(
                function,
                format_args!("expected samples, found the length {length} and the address {data:?}"),
            );
            None
        }
    }
}

/// Samples of 16 bits in a piece of sound. The odd byte at its end belongs to the first sample of the next piece.
fn shorts(odd: &mut SampleBytes, bytes: &[u8]) -> Vec<f32> {
    odd.take(bytes, i16::from_ne_bytes)
}

fn floats(odd: &mut SampleBytes, bytes: &[u8]) -> Vec<f32> {
    *odd = SampleBytes::default();
    bytes.chunks_exact(4).map(|four| f32::from_ne_bytes([four[0], four[1], four[2], four[3]])).collect()
}

// ---- models -------------------------------------------------------------------------------------------------------------

fn open(function: &str, folder: &str) -> Option<Model> {
    let model = logged(function, Model::open(folder, &ModelOptions::default()))?;
    for notice in model.notices() {
        match notice.is_warning() {
            true => log::warning(function, notice),
            false => log::info(function, notice),
        }
    }
    Some(model)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_model_new(model_path: *const c_char) -> *mut Model {
    let name = "vosk_model_new";
    // SAFETY: rule 3.
    guarded(name, null_mut(), || handle(unsafe { read(name, model_path) }.and_then(|path| open(name, path))))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_model_free(model: *mut Model) {
    // SAFETY: rule 1.
    unsafe { release("vosk_model_free", model) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_model_find_word(model: *mut Model, word: *const c_char) -> c_int {
    let name = "vosk_model_find_word";
    guarded(name, -1, || {
        // SAFETY: rules 1 and 3; a model does not change.
        let (model, word) = unsafe { (model.as_ref(), read(name, word)) };
        present(name, model).zip(word).and_then(|(model, word)| model.word_number(word)).unwrap_or(-1)
    })
}

/// A speaker model, which recognisers share.
type Speakers = Arc<SpeakerModel>;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_spk_model_new(model_path: *const c_char) -> *mut Speakers {
    let name = "vosk_spk_model_new";
    guarded(name, null_mut(), || {
        // SAFETY: rule 3.
        let path = unsafe { read(name, model_path) };
        handle(path.and_then(|path| logged(name, SpeakerModel::open(path))).map(Arc::new))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_spk_model_free(model: *mut Speakers) {
    // SAFETY: rule 1.
    unsafe { release("vosk_spk_model_free", model) };
}

// ---- recognisers --------------------------------------------------------------------------------------------------------

/// # Safety
/// Rule 1.
unsafe fn session(function: &str, model: *mut Model, sample_rate: c_float) -> Option<Session> {
    // SAFETY: rule 1; a model does not change.
    let model = present(function, unsafe { model.as_ref() })?;
    let session = logged(function, Session::new(model, sample_rate))?;
    warn_of_low_rate(function, model, sample_rate);
    Some(session)
}

fn warn_of_low_rate(function: &str, model: &Model, sample_rate: c_float) {
    if let Some(low) = model.low_rate(sample_rate) {
        log::warning(function, low);
    }
}

/// Calls a method of a recogniser. Returns `failed` for a null handle, and if it panics.
///
/// # Safety
/// Rules 1 and 2.
unsafe fn with<R, T>(function: &str, handle: *mut R, failed: T, body: impl FnOnce(&mut R) -> Option<T>) -> T
where
    T: Copy,
{
    guarded(function, failed, || {
        // SAFETY: rules 1 and 2: no other reference exists during the call.
        present(function, unsafe { handle.as_mut() }).and_then(body).unwrap_or(failed)
    })
}

/// Changes a setting of a recogniser.
///
/// # Safety
/// Rules 1 and 2.
unsafe fn set<R>(function: &str, handle: *mut R, body: impl FnOnce(&mut R)) {
    // SAFETY: rules 1 and 2.
    unsafe {
        with(function, handle, (), |object| {
            body(object);
            None
        });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_new(model: *mut Model, sample_rate: c_float) -> *mut Session {
    let name = "vosk_recognizer_new";
    // SAFETY: rule 1.
    guarded(name, null_mut(), || handle(unsafe { session(name, model, sample_rate) }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_new_spk(
    model: *mut Model,
    sample_rate: c_float,
    spk_model: *mut Speakers,
) -> *mut Session {
    let name = "vosk_recognizer_new_spk";
    guarded(name, null_mut(), || {
        // SAFETY: rule 1; models do not change.
        let (session, speakers) = unsafe { (session(name, model, sample_rate), spk_model.as_ref()) };
        let both = session.zip(present(name, speakers));
        handle(both.and_then(|(mut session, speakers)| {
            logged(name, session.set_speaker_model(speakers.clone()))?;
            Some(session)
        }))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_new_grm(
    model: *mut Model,
    sample_rate: c_float,
    grammar: *const c_char,
) -> *mut Session {
    let name = "vosk_recognizer_new_grm";
    guarded(name, null_mut(), || {
        // SAFETY: rules 1 and 3.
        let (session, grammar) = unsafe { (session(name, model, sample_rate), read(name, grammar)) };
        handle(session.zip(grammar).and_then(|(mut session, grammar)| {
            logged(name, grammar::set(name, &mut session, grammar))?;
            Some(session)
        }))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_set_spk_model(recognizer: *mut Session, spk_model: *mut Speakers) {
    let name = "vosk_recognizer_set_spk_model";
    // SAFETY: rules 1 and 2; speaker models do not change.
    unsafe {
        with(name, recognizer, (), |session| {
            logged(name, session.set_speaker_model(present(name, spk_model.as_ref())?.clone()))
        });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_set_grm(recognizer: *mut Session, grammar: *const c_char) {
    let name = "vosk_recognizer_set_grm";
    // SAFETY: rules 1 to 3.
    unsafe {
        with(name, recognizer, (), |session| logged(name, grammar::set(name, session, read(name, grammar)?)));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_set_max_alternatives(
    recognizer: *mut Session,
    max_alternatives: c_int,
) {
    let name = "vosk_recognizer_set_max_alternatives";
    // SAFETY: rules 1 and 2.
    unsafe {
        with(name, recognizer, (), |session| {
            let wanted = usize::try_from(max_alternatives).unwrap_or(0);
            let set = session.set_alternatives(wanted);
            if set < wanted {
                log::warning(
                    name,
                    format_args!("{wanted} alternatives are too many: there will be at most {set}"),
                );
            }
            Some(())
        });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_set_words(recognizer: *mut Session, words: c_int) {
    // SAFETY: rules 1 and 2.
    unsafe { set("vosk_recognizer_set_words", recognizer, |session| session.set_words(words != 0)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_set_partial_words(recognizer: *mut Session, partial_words: c_int) {
    let name = "vosk_recognizer_set_partial_words";
    // SAFETY: rules 1 and 2.
    unsafe { set(name, recognizer, |session| session.set_partial_words(partial_words != 0)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_set_nlsml(recognizer: *mut Session, nlsml: c_int) {
    // SAFETY: rules 1 and 2.
    unsafe { set("vosk_recognizer_set_nlsml", recognizer, |session| session.set_nlsml(nlsml != 0)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_set_endpointer_mode(recognizer: *mut Session, mode: c_int) {
    let name = "vosk_recognizer_set_endpointer_mode";
    // The modes default, short, long and very long.
    let scale = match mode {
        1 => 0.75,
        2 => 1.5,
        3 => 4.0,
        _ => 1.0,
    };
    // SAFETY: rules 1 and 2.
    unsafe { set(name, recognizer, |session| session.scale_endpoints(scale)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_set_endpointer_delays(
    recognizer: *mut Session,
    t_start_max: c_float,
    t_end: c_float,
    t_max: c_float,
) {
    let name = "vosk_recognizer_set_endpointer_delays";
    // SAFETY: rules 1 and 2.
    unsafe {
        set(name, recognizer, |session| session.set_endpoint_delays(t_start_max, t_end, t_max));
    }
}

/// Gives samples to a recogniser: 1 at the end of a sentence, otherwise 0; -1 for an error.
///
/// # Safety
/// Rules 1, 2 and 4.
unsafe fn accept<T>(
    function: &str,
    recognizer: *mut Session,
    (data, length): (*const T, c_int),
    samples: fn(&mut SampleBytes, &[u8]) -> Vec<f32>,
) -> c_int {
    // SAFETY: rules 1, 2 and 4.
    unsafe {
        with(function, recognizer, -1, |session| {
            let bytes = bytes(function, data, length)?;
            let samples = samples(session.odd_byte(), bytes);
            logged(function, session.accept(&samples)).map(c_int::from)
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_accept_waveform(
    recognizer: *mut Session,
    data: *const c_char,
    length: c_int,
) -> c_int {
    // SAFETY: rules 1, 2 and 4.
    unsafe { accept("vosk_recognizer_accept_waveform", recognizer, (data, length), shorts) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_accept_waveform_s(
    recognizer: *mut Session,
    data: *const c_short,
    length: c_int,
) -> c_int {
    // SAFETY: rules 1, 2 and 4.
    unsafe { accept("vosk_recognizer_accept_waveform_s", recognizer, (data, length), shorts) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_accept_waveform_f(
    recognizer: *mut Session,
    data: *const c_float,
    length: c_int,
) -> c_int {
    // SAFETY: rules 1, 2 and 4.
    unsafe { accept("vosk_recognizer_accept_waveform_f", recognizer, (data, length), floats) }
}

/// Returns a text of a recogniser, which it keeps until its next call; for an error the empty one.
///
/// # Safety
/// Rules 1 and 2.
unsafe fn text(
    function: &str,
    recognizer: *mut Session,
    method: fn(&mut Session) -> Result<&CStr, Error>,
) -> *const c_char {
    // SAFETY: rules 1 and 2.
    unsafe {
        with(function, recognizer, null(), |session| {
            let found = logged(function, method(session)).map(CStr::as_ptr);
            Some(found.unwrap_or_else(|| session.empty().as_ptr()))
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_result(recognizer: *mut Session) -> *const c_char {
    // SAFETY: rules 1 and 2.
    unsafe { text("vosk_recognizer_result", recognizer, Session::result) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_partial_result(recognizer: *mut Session) -> *const c_char {
    // SAFETY: rules 1 and 2.
    unsafe { text("vosk_recognizer_partial_result", recognizer, Session::partial_result) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_final_result(recognizer: *mut Session) -> *const c_char {
    // SAFETY: rules 1 and 2.
    unsafe { text("vosk_recognizer_final_result", recognizer, Session::final_result) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_reset(recognizer: *mut Session) {
    let name = "vosk_recognizer_reset";
    // SAFETY: rules 1 and 2.
    unsafe { with(name, recognizer, (), |session| logged(name, session.reset())) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_recognizer_free(recognizer: *mut Session) {
    // SAFETY: rules 1 and 2.
    unsafe { release("vosk_recognizer_free", recognizer) };
}

// ---- the process --------------------------------------------------------------------------------------------------------

#[unsafe(no_mangle)]
pub extern "C" fn vosk_set_log_level(log_level: c_int) {
    log::set_level(log_level);
}

#[unsafe(no_mangle)]
pub extern "C" fn vosk_gpu_init() {
    log::info("vosk_gpu_init", "this library recognises on the CPU");
}

/// Has no effect: this library recognises on the CPU.
#[unsafe(no_mangle)]
pub extern "C" fn vosk_gpu_thread_init() {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses the stack of so many calls of 1 kB or more.
    fn deep(calls: usize) -> usize {
        let room = std::hint::black_box([calls as u8; 1024]);
        if calls == 0 { 0 } else { 1 + deep(calls - 1) + usize::from(room[calls % 1024] != calls as u8) }
    }

    /// A thread with a small stack ended the process.
    #[test]
    #[allow(clippy::disallowed_methods)] // A test may panic if there is no thread.
    fn functions_have_enough_stack_on_threads_with_little() {
        let small = std::thread::Builder::new().stack_size(64 << 10);
        let found = small.spawn(|| guarded("test", 0, || deep(700))).unwrap().join();
        assert_eq!(found.unwrap(), 700);
    }

    #[test]
    fn odd_bytes_of_shorts_wait_and_those_before_floats_do_not() {
        let mut odd = SampleBytes::default();
        let [low, high] = 258i16.to_ne_bytes();
        assert!(shorts(&mut odd, &[low]).is_empty());
        assert_eq!(shorts(&mut odd, &[high, low]), [258.0]);
        assert_eq!(floats(&mut odd, &0.5f32.to_ne_bytes()), [0.5]);
        assert_eq!(shorts(&mut odd, &[low, high]), [258.0]);
    }
}
