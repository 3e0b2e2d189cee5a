//! The native methods of `org.perfhive.Native`.
//!
//! Each runs behind `with_env`, which catches panics, and each failure becomes an exception. No
//! pointer crosses: arguments are numbers and arrays, and the JVM checks the bounds of arrays.

use crate::failure::{Failure, Kind};
use crate::{calls, clock, handles};
use jni::objects::{JByteArray, JClass, JIntArray, JLongArray, JThrowable};
use jni::sys::{jint, jlong};
use jni::{Env, EnvUnowned, JValue, Outcome, jni_sig, jni_str};
use perfhive::experiment::EventKind;
use std::time::Duration;

/// Runs the work of a native method. A failure or panic becomes a `PerfhiveException`, and the
/// method returns nothing of use, which Java never sees.
///
/// `EnvOutcome::resolve` would do the same, and find out a second time in each call which JVM it is.
fn enter<'local, T: Default>(
    mut env: EnvUnowned<'local>,
    work: impl FnOnce(&mut Env<'local>) -> Result<T, Failure>,
) -> T {
    let failure = match env.with_env(work).into_outcome() {
        Outcome::Ok(result) => return result,
        Outcome::Err(failure) => failure,
        Outcome::Panic(payload) => {
            let text = payload.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "no message".to_string());
            Failure::new(Kind::Internal, format!("a fault inside perfhive: {text}"))
        }
    };
    // Where the exception cannot be made, as without memory, the JVM has thrown another.
    let _ = env.with_env(|env| throw(env, failure)).into_outcome();
    T::default()
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
    enter(env, |_| handles::close(handle));
}

/// The time of a clock. Needs nothing of the JVM: finding out which JVM it is would take longer
/// than reading the clock.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_now<'local>(
    _: EnvUnowned<'local>,
    _: JClass<'local>,
    number: jint,
) -> jlong {
    std::panic::catch_unwind(|| clock::now(number)).unwrap_or(clock::UNREADABLE)
}

/// Tells of a call: `what` is the kind of the event, and 4 more where the thread's processor time is to be
/// read. Returns whether there is such a queue. Needs nothing of the JVM, as `now`.
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
        handles::calls(handle, |calls| {
            let thread_time = if what & 4 == 0 { None } else { clock::thread_time() };
            let name = usize::try_from(name).unwrap_or(usize::MAX);
            calls.tell(name, kind, thread.cast_unsigned(), thread_time);
            Ok(())
        })
    };
    std::panic::catch_unwind(tell).is_ok_and(|told| told.is_ok()).into()
}

#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_prepare<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
) {
    enter(env, |_| handles::probe(handle, |probe| probe.prepare()));
}

/// Takes a sample. `patience` is in nanoseconds, and negative for none. Returns the number of
/// anomalies.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_sample<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
    patience: jlong,
) -> jint {
    enter(env, |_| {
        let patience = u64::try_from(patience).ok().map(Duration::from_nanos);
        handles::probe(handle, |probe| Ok(length(probe.sample(patience)?)))
    })
}

/// Decodes the sample.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_decode<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
) {
    enter(env, |_| handles::probe(handle, |probe| probe.decode()));
}

/// Fills the number of readings, the versions of their structure, of the reasons and of the codes,
/// and the number of anomalies.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_facts<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
    out: JIntArray<'local>,
) {
    enter(env, |env| {
        handles::probe(handle, |probe| {
            let values = &probe.values;
            let anomalies = length(probe.anomaly_count());
            let count = length(values.bits.len());
            let versions = [values.version, values.reasons_version, values.codes_version];
            let [structure, reasons, codes] = versions;
            let facts = [count, structure, reasons, codes, anomalies];
            Ok(out.set_region(env, 0, &facts)?)
        })
    });
}

/// Copies the bits of all values into Java's array.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_values<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
    bits: JLongArray<'local>,
) {
    enter(env, |env| {
        handles::probe(handle, |probe| Ok(bits.set_region(env, 0, &probe.values.bits)?))
    });
}

/// Copies the codes of all values into Java's array.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_codes<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
    codes: JByteArray<'local>,
) {
    enter(env, |env| {
        handles::probe(handle, |probe| Ok(codes.set_region(env, 0, &probe.values.codes)?))
    });
}

/// Copies the raw values of the sample, and of the sample before, into Java's arrays.
#[unsafe(no_mangle)]
extern "system" fn Java_org_perfhive_Native_rawValues<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
    raw: JLongArray<'local>,
    before: JLongArray<'local>,
) {
    enter(env, |env| {
        handles::probe(handle, |probe| {
            raw.set_region(env, 0, &probe.values.raw)?;
            Ok(before.set_region(env, 0, &probe.values.before)?)
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
    enter(env, |_| {
        handles::probe(handle, |probe| {
            let place = usize::try_from(place).unwrap_or(usize::MAX);
            let outside = || Failure::new(Kind::Internal, "there is no value at this place");
            probe.values.bits.get(place).copied().ok_or_else(outside)
        })
    })
}

fn length(length: usize) -> jint {
    jint::try_from(length).unwrap_or(jint::MAX)
}
