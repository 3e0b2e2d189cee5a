//! The native methods of `org.perfhive.Native`.
//!
//! Each method catches panics, and each failure becomes an exception. No pointer crosses: arguments
//! are numbers and arrays, and the JVM checks the bounds of arrays.
//!
//! A method that is called in each cycle calls the JVM only to copy: finding out which JVM it is,
//! and whether an exception is pending, would take as long as the rest of the method.

use crate::failure::{Failure, Kind};
use crate::{calls, clock, handles};
use jni::objects::{JByteArray, JClass, JIntArray, JLongArray, JThrowable};
use jni::sys::{jint, jlong};
use jni::{Env, EnvUnowned, JValue, Outcome, jni_sig, jni_str};
use perfhive::experiment::EventKind;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::ptr::{copy_nonoverlapping, null_mut};
use std::time::Duration;

/// Runs the work of a native method, which may call the JVM. A failure or panic becomes a Java
/// exception; the method then returns a default value, which Java never sees.
///
/// `EnvOutcome::resolve` would do the same, but find out a second time in each call which JVM it
/// is.
fn enter<'local, T: Default>(
    mut env: EnvUnowned<'local>,
    work: impl FnOnce(&mut Env<'local>) -> Result<T, Failure>,
) -> T {
    let failure = match env.with_env(work).into_outcome() {
        Outcome::Ok(result) => return result,
        Outcome::Err(failure) => failure,
        Outcome::Panic(payload) => fault(&*payload),
    };
    throw_in(env, failure)
}

/// Runs the work of a native method as [`enter`] does, for work that does not call the JVM, or
/// calls it only to copy.
fn enter_plainly<T: Default>(
    env: EnvUnowned<'_>,
    work: impl FnOnce(&EnvUnowned<'_>) -> Result<T, Failure>,
) -> T {
    // What is behind the locks of this crate is as usable after a panic as after an error.
    let failure = match std::panic::catch_unwind(AssertUnwindSafe(|| work(&env))) {
        Ok(Ok(result)) => return result,
        Ok(Err(failure)) => failure,
        Err(payload) => fault(&*payload),
    };
    throw_in(env, failure)
}

fn fault(payload: &(dyn Any + Send)) -> Failure {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "no message".to_string());
    Failure::new(Kind::Internal, format!("a fault inside perfhive: {text}"))
}

#[cold]
fn throw_in<T: Default>(mut env: EnvUnowned<'_>, failure: Failure) -> T {
    // Where the exception cannot be made, as without memory, the JVM has thrown another.
    let _ = env.with_env(|env| throw(env, failure)).into_outcome();
    T::default()
}

/// Defines a function that copies numbers to the beginning of Java's array. If the array is
/// shorter, nothing is copied, and the JVM throws an `ArrayIndexOutOfBoundsException` when the
/// native method returns.
macro_rules! copies {
    ($($name:ident, $array:ident, $number:ty, $set:ident;)*) => {
        $(
            fn $name(
                env: &EnvUnowned<'_>,
                array: &$array<'_>,
                numbers: &[$number],
            ) -> Result<(), Failure> {
                if array.is_null() {
                    return Err(Failure::new(Kind::Internal, "there is no array"));
                }
                let raw = env.as_raw();
                // SAFETY: the JVM passed this pointer to the native method that is at work on this
                // thread, and an array that is not null, as a local reference. No exception is
                // pending: native methods begin without, and none copies on after one. The numbers
                // are as many as the length says.
                unsafe {
                    ((**raw).v1_2.$set)(
                        raw,
                        array.as_raw(),
                        0,
                        length(numbers.len()),
                        numbers.as_ptr(),
                    );
                }
                Ok(())
            }
        )*
    };
}

/// The least number of numbers that the native code copies itself, since the JVM moves numbers one
/// by one; fewer are copied by the JVM.
const MANY: usize = 512;

/// Copies numbers to the beginning of Java's array, as [`copy_longs`] does, and faster for many
/// numbers. Returns `true` if all were copied. `false` means that none was copied and a Java
/// exception is pending, because memory or room in the array was lacking: then no further array may
/// be copied to.
fn copy_many(
    env: &EnvUnowned<'_>,
    array: &JLongArray<'_>,
    numbers: &[i64],
) -> Result<bool, Failure> {
    let (raw, many) = (env.as_raw(), numbers.len());
    // SAFETY: as above, and each array is copied to only if no exception is pending.
    let fits = !array.is_null()
        && unsafe { ((**raw).v1_2.GetArrayLength)(raw, array.as_raw()) } >= length(many);
    if !fits || many < MANY {
        return copy_longs(env, array, numbers).map(|()| fits);
    }
    // SAFETY: as above; and the array is at least as long as the numbers. Between getting and releasing it
    // nothing is asked of the JVM and nothing waited for.
    unsafe {
        let to = ((**raw).v1_2.GetPrimitiveArrayCritical)(raw, array.as_raw(), null_mut());
        if !to.is_null() {
            copy_nonoverlapping(numbers.as_ptr(), to.cast::<i64>(), many);
            ((**raw).v1_2.ReleasePrimitiveArrayCritical)(raw, array.as_raw(), to, 0);
        }
        Ok(!to.is_null())
    }
}

copies! {
    copy_ints, JIntArray, jint, SetIntArrayRegion;
    copy_longs, JLongArray, jlong, SetLongArrayRegion;
    copy_bytes, JByteArray, i8, SetByteArrayRegion;
}

fn throw(env: &mut Env<'_>, failure: Failure) -> jni::errors::Result<()> {
    if env.exception_check() {
        return Ok(());
    }
    let (kind, message) = match failure {
        Failure::Of(kind, message) => (kind, message),
        Failure::Jni(error) => (Kind::Internal, error.to_string()),
    };
    let message = env.new_string(message)?;
    let class = jni_str!("org/perfhive/PerfhiveException");
    let arguments = [JValue::Int(kind as jint), JValue::Object(&message)];
    let exception = env.new_object(class, jni_sig!("(ILjava/lang/String;)V"), &arguments)?;
    let exception = env.cast_local::<JThrowable>(exception)?;
    match env.throw(&exception) {
        // It is on its way.
        Err(jni::errors::Error::JavaException) => Ok(()),
        other => other,
    }
}

/// Performs an operation, given by its number, with the bytes of a request; returns the bytes of the answer.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_call<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    operation: jint,
    request: JByteArray<'local>,
) -> JByteArray<'local> {
    enter(env, |env| {
        let request = env.convert_byte_array(&request)?;
        let answer = calls::call(operation, &request)?;
        Ok(env.byte_array_from_slice(&answer)?)
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_close<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
) {
    enter_plainly(env, |_| handles::close(handle));
}

/// The time of a clock in nanoseconds, or [`clock::UNREADABLE`]. The method does not call the JVM:
/// finding out which JVM it is would take longer than reading the clock.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_now<'local>(
    _: EnvUnowned<'local>,
    _: JClass<'local>,
    number: jint,
) -> jlong {
    std::panic::catch_unwind(|| clock::now(number)).unwrap_or(clock::UNREADABLE)
}

/// Adds a call to a queue. `what` is the position of the event's kind in Java's `EventKind`, plus 4
/// if the thread's processor time is to be read. Returns 0 if no queue has this handle, or after a
/// panic, and 1 otherwise, even if the queue had no room. The method does not call the JVM.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_tell<'local>(
    _: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
    what: jint,
    name: jint,
    thread: jint,
) -> jint {
    let tell = || {
        let kind = match what & 3 {
            1 => EventKind::Start,
            2 => EventKind::End,
            _ => EventKind::Point,
        };
        handles::calls_briefly(handle, |calls| {
            let thread_time = if what & 4 == 0 { None } else { clock::thread_time() };
            let name = usize::try_from(name).unwrap_or(usize::MAX);
            calls.tell(name, kind, thread.cast_unsigned(), thread_time);
        })
    };
    std::panic::catch_unwind(tell).is_ok_and(|told| told.is_ok()).into()
}

/// Makes a probe context ready for a sample.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_prepare<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
) {
    enter_plainly(env, |_| handles::probe(handle, |probe| probe.prepare()));
}

/// Takes a sample of a probe context. `patience` is the timeout in nanoseconds; a negative number
/// means no timeout. Returns the number of anomalies.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_sample<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
    patience: jlong,
) -> jint {
    enter_plainly(env, |_| {
        let patience = u64::try_from(patience).ok().map(Duration::from_nanos);
        handles::probe(handle, |probe| Ok(length(probe.sample(patience)?)))
    })
}

/// Decodes the newest sample of a probe context.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_decode<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
) {
    enter_plainly(env, |_| handles::probe(handle, |probe| probe.decode()));
}

/// Fills Java's array with five numbers: the number of readings, the versions of their structure,
/// of the reasons and of the codes, and the number of anomalies.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_facts<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
    out: JIntArray<'local>,
) {
    enter_plainly(env, |env| {
        handles::probe_briefly(handle, |probe| {
            let values = &probe.values;
            let anomalies = length(probe.anomaly_count());
            let count = length(values.bits.len());
            let versions = [values.version, values.reasons_version, values.codes_version];
            let [structure, reasons, codes] = versions;
            let facts = [count, structure, reasons, codes, anomalies];
            copy_ints(env, &out, &facts)
        })
    });
}

/// Copies the bits of all values of a probe context into Java's array; see `Values::bits`.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_values<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
    bits: JLongArray<'local>,
) {
    enter_plainly(env, |env| {
        handles::probe_briefly(handle, |probe| {
            copy_many(env, &bits, &probe.values.bits).map(|_| ())
        })
    });
}

/// Copies the codes of all values of a probe context into Java's array; see `Values::codes`.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_codes<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
    codes: JByteArray<'local>,
) {
    enter_plainly(env, |env| {
        handles::probe_briefly(handle, |probe| copy_bytes(env, &codes, &probe.values.codes))
    });
}

/// Copies the raw values of a probe context's newest sample into Java's array `raw`, and those of
/// the sample before into `before`.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_rawValues<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
    raw: JLongArray<'local>,
    before: JLongArray<'local>,
) {
    enter_plainly(env, |env| {
        handles::probe_briefly(handle, |probe| {
            if copy_many(env, &raw, &probe.values.raw)? {
                copy_many(env, &before, &probe.values.before)?;
            }
            Ok(())
        })
    });
}

/// The bits of one value, for the benchmark that compares copying in bulk with a call for each
/// value.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_value<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
    place: jint,
) -> jlong {
    enter_plainly(env, |_| {
        handles::probe_briefly(handle, |probe| {
            let place = usize::try_from(place).unwrap_or(usize::MAX);
            let outside = || Failure::new(Kind::Internal, "there is no value at this place");
            probe.values.bits.get(place).copied().ok_or_else(outside)
        })
    })
}

fn length(length: usize) -> jint {
    jint::try_from(length).unwrap_or(jint::MAX)
}
