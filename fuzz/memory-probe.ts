/** Loaded into the service before it starts: tells its memory after the garbage is gone, when it is asked. */
process.on('message', () => {
  const collect = (globalThis as { gc?: () => void }).gc
  collect?.()
  // What finalisers have let go is gone with the next one.
  setTimeout(() => {
    collect?.()
    process.send?.(process.memoryUsage())
  }, 50)
})
// The channel must not keep the service from ending.
process.channel?.unref()
