//! The web server among this peer's programs.

#pragma once

#include <string>
#include <vector>

/// Takes connections for ever: [--echo] [--processors N] [--small-buffer] [ADDRESS].
void serve(const std::vector<std::string>& arguments);
