/** Readings as attributes of MBeans. */
package org.perfhive.jmx;
