/**
 * A reporter of `node --test` that prints nothing: how long each file of a whole run took is kept for the plan of the next
 * one (test-plan.ts), in a folder that is not in the repository.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

const place = join(import.meta.dirname, '..', 'node_modules', '.cache', 'test-durations.json')

/** Milliseconds, by the name of the file. */
export type Durations = Readonly<Record<string, number>>

export async function readDurations(): Promise<Durations> {
  const text = await readFile(place, 'utf8').catch(() => '{}')
  try {
    return JSON.parse(text) as Durations
  } catch {
    return {}
  }
}

async function writeDurations(durations: Durations): Promise<void> {
  await mkdir(dirname(place), { recursive: true })
  await writeFile(`${place}.new`, JSON.stringify(durations, null, 1))
  await rename(`${place}.new`, place)
}

// biome-ignore lint/correctness/useYield: it prints nothing
export default async function* keepDurations(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const durations: Record<string, number> = {}
  for await (const { type, data } of events) {
    // Each file is a suite of its own (test/support/together.ts).
    if ((type === 'test:pass' || type === 'test:fail') && data.nesting === 0 && data.name.endsWith('.test.ts'))
      durations[data.name] = Math.round(data.details.duration_ms)
  }
  await writeDurations({ ...(await readDurations()), ...durations })
}
