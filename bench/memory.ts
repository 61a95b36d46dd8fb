import type { Context } from './context.ts'
import { peakMemory } from './process.ts'
import { atMost, type Row } from './report.ts'

/** The largest resident memory of the service in all measurements before. */
export async function measureMemory({ service }: Context): Promise<Row[]> {
  return [atMost('memory of the service (RSS, peak)', 400, await peakMemory(service.pid), 'MB')]
}
