/** The setting of memory, which V8 has to know before the program runs that reads all the others. */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

/** Megabytes when the setting says nothing. */
export const standardMemory = 512

/**
 * `SVC_MEMORY`, or `svc.memory` of the file of settings. What is wrong with either is for the program to say, which reads both
 * again: then this is the standard.
 */
export async function memorySetting({ args, env }) {
  const megabytes = Number(env.SVC_MEMORY || (await memoryInFile({ args, env })))
  return Number.isInteger(megabytes) && megabytes > 0 ? megabytes : standardMemory
}

async function memoryInFile({ args, env }) {
  const { values } = parseArgs({ args, strict: false, options: { config: { type: 'string' } } })
  const file = typeof values.config === 'string' ? values.config : env.SVC_CONFIG || 'svc.yml'
  try {
    const { parse } = await import('yaml')
    return parse(readFileSync(file, 'utf8'), { maxAliasCount: 20, logLevel: 'silent' })?.svc?.memory
  } catch {
    return undefined
  }
}

/**
 * How V8 is told: its heap is collected before it takes more than it needs (with V8's own limits for a large machine, garbage
 * of an import alone takes 300 MB), and is still wide enough for the largest request bodies. The numbers are those of the table
 * of memory (src/platform/memory/shares.ts): all but the program and the young objects.
 *
 * Room for young objects (V8 takes powers of two): while sixteen pages wait for each other, what they need grows old before it
 * is garbage. Of 512 MB it is 16: with 32, pages of 50 that nobody asked for before took an eighth less processor time, but the
 * highest memory is 30 MB more, which comes too near to 400.
 */
export function heapFlags(megabytes = standardMemory) {
  const old = Math.max(64, Math.floor((megabytes * 29) / 32) - 64)
  const young = Math.min(32, 2 ** Math.floor(Math.log2(Math.max(1, megabytes / 32))))
  return [`--max-old-space-size=${old}`, `--max-semi-space-size=${young}`]
}
