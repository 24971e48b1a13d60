/*
 * version: the version of all of Postern.
 */
#ifndef POSTERN_BASE_VERSION_H
#define POSTERN_BASE_VERSION_H

#define POSTERN_VERSION "0.1.0"

#endif
