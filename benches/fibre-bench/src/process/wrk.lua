-- What the harness reads: quantiles of the latency in microseconds. A script
-- without a function for requests or answers costs wrk nothing while it runs.

function done(summary, latency)
    for _, quantile in ipairs({ 50, 99, 99.9 }) do
        io.write(string.format("quantile %g %d us\n", quantile, latency:percentile(quantile)))
    end
end
