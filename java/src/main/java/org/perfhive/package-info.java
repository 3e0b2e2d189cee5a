/**
 * Performance counters and measurements for Java programs.
 *
 * <p>A {@link org.perfhive.DataSource} has {@link org.perfhive.Sensor}s. A
 * {@link org.perfhive.MeasurementContext} measures chosen sensors of one or several data sources in
 * three stages: {@code prepare}, {@code sample}, {@code decode}. A
 * {@link org.perfhive.Category} reads counters as .NET does. Below both are
 * {@link org.perfhive.CounterSnapshot} and {@link org.perfhive.CounterNames}, which work with title
 * indexes.
 *
 * <p>No method takes or returns {@code null}. Failures are {@link org.perfhive.PerfhiveException}s;
 * a missing value is not a failure, it comes with a {@link org.perfhive.NoValue}.
 *
 * <p>Objects that hold something native are {@link java.lang.AutoCloseable}. One that is forgotten
 * is closed when the garbage collector finds it. Every method may be called from any thread; work
 * with one object happens one call at a time. After {@code close} each method that needs the native
 * object throws an {@link java.lang.IllegalStateException} that names what is closed; so may a call that
 * is at work meanwhile.
 */
package org.perfhive;
