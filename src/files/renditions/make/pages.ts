import { CannotMake } from '../workshop/failure.ts'
import type { ResultOf, TextTask } from '../workshop/tasks.ts'

/** Characters that are read beside the pages: as few as can be asked for. */
const most = 1

/**
 * The sizes of the pages of a version that is a PDF, as `technical_metadata` has them for an original; nothing where they cannot be
 * read, which does not affect the version itself.
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
