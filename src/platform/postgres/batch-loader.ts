/**
 * Combines all requests of one turn of the event loop into one statement: a statement costs more than the few rows that it reads.
 * The statement runs after each request was made, so its answer is current for all. Each request gets the whole answer and takes
 * its part of it.
 *
 * @param most maximum size of the questions in one statement; `sizeOf` returns the size of a question.
 */
export function createBatchLoader<Question, Answer>(
  ask: (questions: readonly Question[]) => Promise<Answer>,
  { most, sizeOf = () => 1 }: { readonly most: number; readonly sizeOf?: (question: Question) => number },
): (question: Question) => Promise<Answer> {
  interface Batch {
    readonly questions: Question[]
    size: number
    readonly answer: Promise<Answer>
  }
  let gathering: Batch | null = null

  function begin(): Batch {
    const questions: Question[] = []
    const answer = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      if (gathering === batch) gathering = null
      return ask(questions)
    })
    const batch: Batch = { questions, size: 0, answer }
    return batch
  }

  return (question) => {
    gathering ??= begin()
    const batch = gathering
    batch.questions.push(question)
    batch.size += sizeOf(question)
    if (batch.size >= most) gathering = null
    return batch.answer
  }
}
