//! The functions of batch models and their recognisers.

use std::ffi::{c_char, c_float, c_int};
use std::ptr::{null, null_mut};

use nnet3_online::Model;

use super::{
    bytes, guarded, handle, logged, open, present, read, release, set, shorts, warn_of_low_rate, with,
};
use crate::batch::BatchRecognizer;
use crate::log;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_batch_model_new(model_path: *const c_char) -> *mut Model {
    let name = "vosk_batch_model_new";
    guarded(name, null_mut(), || {
        log::info(name, "this library recognises batches on the CPU, one recogniser after the other");
        // SAFETY: rule 3.
        handle(unsafe { read(name, model_path) }.and_then(|path| open(name, path)))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_batch_model_free(model: *mut Model) {
    // SAFETY: rule 1.
    unsafe { release("vosk_batch_model_free", model) };
}

/// Has no effect: samples are recognised when they are accepted.
#[unsafe(no_mangle)]
pub extern "C" fn vosk_batch_model_wait(_model: *mut Model) {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_batch_recognizer_new(
    model: *mut Model,
    sample_rate: c_float,
) -> *mut BatchRecognizer {
    let name = "vosk_batch_recognizer_new";
    guarded(name, null_mut(), || {
        // SAFETY: rule 1; a model does not change.
        let model = present(name, unsafe { model.as_ref() });
        handle(model.and_then(|model| {
            let recognizer = logged(name, BatchRecognizer::new(model, sample_rate))?;
            warn_of_low_rate(name, model, sample_rate);
            Some(recognizer)
        }))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_batch_recognizer_free(recognizer: *mut BatchRecognizer) {
    // SAFETY: rules 1 and 2.
    unsafe { release("vosk_batch_recognizer_free", recognizer) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_batch_recognizer_accept_waveform(
    recognizer: *mut BatchRecognizer,
    data: *const c_char,
    length: c_int,
) {
    let name = "vosk_batch_recognizer_accept_waveform";
    // SAFETY: rules 1, 2 and 4.
    unsafe {
        with(name, recognizer, (), |batch| {
            let samples = shorts(batch.odd_byte(), bytes(name, data, length)?);
            logged(name, batch.accept(&samples))
        });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_batch_recognizer_set_nlsml(recognizer: *mut BatchRecognizer, nlsml: c_int) {
    let name = "vosk_batch_recognizer_set_nlsml";
    // SAFETY: rules 1 and 2.
    unsafe { set(name, recognizer, |batch| batch.set_nlsml(nlsml != 0)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_batch_recognizer_finish_stream(recognizer: *mut BatchRecognizer) {
    let name = "vosk_batch_recognizer_finish_stream";
    // SAFETY: rules 1 and 2.
    unsafe { with(name, recognizer, (), |batch| logged(name, batch.finish())) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_batch_recognizer_front_result(
    recognizer: *mut BatchRecognizer,
) -> *const c_char {
    let name = "vosk_batch_recognizer_front_result";
    // SAFETY: rules 1 and 2.
    unsafe { with(name, recognizer, null(), |batch| Some(batch.front().as_ptr())) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn vosk_batch_recognizer_pop(recognizer: *mut BatchRecognizer) {
    // SAFETY: rules 1 and 2.
    unsafe { set("vosk_batch_recognizer_pop", recognizer, |batch| batch.pop()) };
}

/// Returns 0: samples are recognised when they are accepted.
#[unsafe(no_mangle)]
pub extern "C" fn vosk_batch_recognizer_get_pending_chunks(_recognizer: *mut BatchRecognizer) -> c_int {
    0
}
