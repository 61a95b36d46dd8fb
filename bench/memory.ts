import type { Context } from './context.ts'
import { peakMemory } from './process.ts'
import { atMost, type Row } from './report.ts'

/** The most that the service has had resident during everything before. */
export async function measureMemory({ service }: Context): Promise<Row[]> {
  return [atMost('memory of the service (RSS, peak)', 400, await peakMemory(service.pid), 'MB')]
}
