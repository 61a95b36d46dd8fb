import { CannotMake } from '../workshop/failure.ts'
import type { ResultOf, TextTask } from '../workshop/tasks.ts'

/** Characters that are read beside the pages: as few as can be asked for. */
const most = 1

/**
 * What a version that is a PDF tells of its pages, as `technical_metadata` tells it of an original; nothing where they cannot be
 * read, which takes nothing from the version itself.
 */
export async function pagesOf(
  run: (task: TextTask) => Promise<ResultOf<TextTask>>,
  path: string,
): Promise<Readonly<Record<string, unknown>>> {
  try {
    const { sizes } = await run({ kind: 'text', source: { path, extension: 'pdf' }, most })
    return sizes.length === 0 ? {} : { page_sizes: sizes }
  } catch (error) {
    if (error instanceof CannotMake) return {}
    throw error
  }
}
