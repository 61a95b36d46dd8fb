import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'

/** A person who can answer questions. */
export interface Terminal {
  readonly input: NodeJS.ReadStream
  readonly output: NodeJS.WritableStream
}

/** Whether the user agrees; an empty line means no. */
export async function confirm({ input, output }: Terminal, question: string): Promise<boolean> {
  return /^(?:y|yes|j|ja)$/i.test(await ask(input, output, `${question} [y/N] `))
}

/** Asks for a secret, without showing it on the screen. */
export async function askSecret({ input, output }: Terminal, question: string): Promise<string> {
  output.write(question)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  try {
    return await ask(input, silent, '')
  } finally {
    output.write('\n')
  }
}

function ask(input: NodeJS.ReadStream, output: NodeJS.WritableStream, question: string): Promise<string> {
  const lines = createInterface({ input, output, terminal: input.isTTY ?? false })
  return new Promise((resolve, reject) => {
    // The end of the input counts as an empty answer.
    lines.once('close', () => resolve(''))
    lines.once('SIGINT', () => reject(new Error('interrupted')))
    lines.question(question, (answer) => {
      resolve(answer.trim())
      lines.close()
    })
  }).finally(() => lines.close()) as Promise<string>
}
