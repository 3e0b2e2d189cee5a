/** Readings, records and sections as events of Java Flight Recorder. */
package org.perfhive.jfr;
