/**
 * A process that works on media, started by the service (workers.ts): a hostile file can harm only this process. It knows
 * no passwords and no database.
 */
import sharp from 'sharp'
import { CannotMake, reasonOf } from './failure.ts'
import { makePictures } from './pictures.ts'
import type { Answer, Failure, Order, Results } from './tasks.ts'

// Of the formats that libvips does not trust, only drawings are allowed, and only from memory, where they cannot include
// files.
sharp.unblock({ operation: ['VipsForeignLoadSvgBuffer'] })
sharp.cache(false)
sharp.concurrency(1)

/** Modules that few processes need are loaded at their first use. */
async function work({ task, limits }: Order): Promise<Results[keyof Results]> {
  switch (task.kind) {
    case 'pictures':
      return makePictures(task, limits.pixels)
    case 'text':
      return (await import('./text.ts')).readText(task)
    case 'tags':
      return (await import('./exiftool.ts')).readTags(task, limits)
    case 'strip':
      return (await import('./exiftool.ts')).strip(task, limits)
    case 'write':
      return (await import('./write-tags.ts')).writeTags(task, limits)
    case 'embedded':
      return (await import('./exiftool.ts')).embedded(task, limits)
    case 'derive':
      return (await import('./derive.ts')).derive(task, limits.pixels)
    case 'sized':
      return (await import('./sized.ts')).makeSized(task, limits.pixels)
    case 'region':
      return (await import('./region.ts')).cutRegion(task, limits.pixels)
  }
}

function failureOf(error: unknown): Failure {
  const reason = reasonOf(error)
  if (!(error instanceof CannotMake)) return { kind: 'unreadable', reason }
  const { kind, needs, late } = error
  return { kind, reason, needs, late }
}

process.on('message', (order: Order) => {
  const answer = (message: Answer): void => void process.send?.(message)
  work(order).then(
    (result) => answer({ id: order.id, result }),
    (error: unknown) => answer({ id: order.id, failure: failureOf(error) }),
  )
})
// The service has ended.
process.on('disconnect', () => process.exit(0))
