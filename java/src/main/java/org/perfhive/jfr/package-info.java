/** Readings as events of Java Flight Recorder. */
package org.perfhive.jfr;
