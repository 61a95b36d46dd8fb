/**
 * The work of libvips alone: pictures of 400 pixels of the files whose paths arrive as input, one after the other. A
 * process of the bench, to be compared with the processes of the service.
 */
import sharp from 'sharp'

sharp.cache(false)
sharp.concurrency(1)

process.on('message', (paths: readonly string[]) => {
  make(paths).then(
    () => process.send?.('done'),
    (error: unknown) => process.send?.(String(error)),
  )
})

async function make(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const picture = sharp(path, { sequentialRead: true }).autoOrient()
    await picture.resize({ width: 400, height: 400, fit: 'inside' }).jpeg({ quality: 80 }).toBuffer()
  }
}
