"""Fine-tuning: ACER with demonstrations in its replay memory, schedules that bring them in and remove them."""
