/**
 * Performance counters and measurements for Java programs.
 *
 * <p>A {@link org.perfhive.DataSource} has {@link org.perfhive.Sensor}s. A
 * {@link org.perfhive.MeasurementContext} measures chosen sensors of one or several data sources in
 * three stages: {@code prepare}, {@code sample}, {@code decode}. A
 * {@link org.perfhive.Category} reads counters as .NET does. On a lower level,
 * {@link org.perfhive.CounterSnapshot} and {@link org.perfhive.CounterNames} work with title indexes.
 *
 * <p>No method takes or returns {@code null}. Failures are {@link org.perfhive.PerfhiveException}s;
 * a missing value is not a failure, it comes with a {@link org.perfhive.NoValue}.
 *
 * <p>Objects that hold a native object are {@link java.lang.AutoCloseable}. An object that is not
 * closed is closed when the garbage collector finds it; only an {@link org.perfhive.Experiment} may go
 * on until its end, as its description says. Every method may be called from any thread.
 * Calls on one object that cannot run at the same time wait for one another; only in a measurement
 * context the second one throws. After {@code close} each method that needs the native object throws an
 * {@link java.lang.IllegalStateException} that names what is closed; a call that is at work during
 * {@code close} may throw it, too.
 */
package org.perfhive;
